"""Evaluation: ranks -> metrics; validation; calibration; classification.

spans            the scores of many queries and all entities, a bounded table at a time
candidates       which entities may answer a query
candidate_scores their scores, and the best of them
candidate_ranks  where a target stands among them
limits           what a person says of who may answer
ranks            where a target stands among all entities; ranking_revision of how they are counted
metrics          what ranks say of a model
evaluator        a split of a graph -> a report
validation       how good a model is while it is trained
calibration/     from scores to probabilities
classification   true or false, and how sure
reliability      how often verdicts are right, and whether probabilities mean what they say
"""
