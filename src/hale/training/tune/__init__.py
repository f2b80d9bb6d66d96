"""Tune: a search over settings, on validation triples only, under a budget (extra 'tune').

search       trials one after another, kept in a journal, until the budget is spent
points       the space of a system, and where in it a search begins
recipe_file  what was found, as a recipe
activation_space  the space of a search for an activation
"""
