"""Data: files, frames and names -> Graph; named data sets; revisions of a graph.

graph           a knowledge graph as ids, in three splits
lines           lines of text files as columns, in parts
names           a column of texts that reads like a sequence
matching        what a typed text may mean among the texts of a column
find            entities and relations by a part of their name or label
results         what a question gives back: a sequence, a frame, a table in a notebook
vocabulary      names in id order, and the way back
known_answers   which entities answer a query
sides           which entities stand on which side of a relation
types           what kind of things entities are
keys            triples and queries as numbers: is this triple known?
sources/        the one reader: files and tables -> rows of names -> Graph
datasets/       graphs by name: bundled, cached, downloaded
revision        facts added to a graph and taken from it
progress        what is called while bytes arrive
files           whole files and folders, old or new at any moment
"""
