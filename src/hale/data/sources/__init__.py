"""Sources: files and tables of triples -> Graph.

compression   a path -> its bytes, unpacked
columns       which column is head, relation, tail
text          tab- or comma-separated text -> rows
parquet       Parquet -> rows
rdf           N-Triples and Turtle -> rows (extra 'rdf')
tables        polars, pandas, arrays -> rows
rows          the checks that all rows pass, with the place of the first fault
folder        a file, or a folder with train/valid/test -> Graph
triples       a file or table of triples -> rows, its bad lines told together
assemble      rows of names -> ids, splits, notes
"""

from hale.data.sources.frames import graph_from_tables
from hale.data.sources.graph_files import read_graph
from hale.data.sources.triples import Triples, read_triples

__all__ = ["Triples", "graph_from_tables", "read_graph", "read_triples"]
