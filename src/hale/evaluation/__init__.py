"""Evaluation: ranks -> metrics; validation; calibration; classification.

ranks            the one loop over queries and all entities, and where a target stands
metrics          what ranks say of a model
evaluator        a split of a graph -> a report
validation       how good a model is while it is trained
calibration/     from scores to probabilities
classification   true or false, and how sure
reliability      how often verdicts are right, and whether probabilities mean what they say
"""
