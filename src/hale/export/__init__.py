"""Export: a run's vectors where other programs can use them.

tables        the vectors of a run with their names
query         the vector of a question, to be compared with entity vectors
about         an export's folder, and what its about.json says
arrays        npy
frames        parquet and csv
word2vec      the text format of word2vec
tensorboard   the embedding projector
index         a nearest-neighbour index (extra 'index')
formats       one door to all of them
"""

from hale.export.formats import FORMATS, export_run
from hale.export.index import EntityIndex, open_index
from hale.export.query_vector import query_vectors

__all__ = ["FORMATS", "EntityIndex", "export_run", "open_index", "query_vectors"]
