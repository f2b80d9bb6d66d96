"""Answers: predict, discover, neighbours and why.

queries        a fact with one place left open
predictor      the answers to queries
answer         one answer, and the answers to one query
arrays         many answers as arrays, and as tables with names
stream         the answers to many queries, as they are taken or as one frame
discovery      the most plausible facts that a graph lacks
neighborhood   the entities nearest to one
explanation    how a fact ranks, and the known facts that support it
scorer         the best answers to many queries at once
"""
