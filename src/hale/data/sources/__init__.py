"""Sources: files and tables -> rows of names -> Graph, all by one reader.

layout        which columns a kind of file has
compression   a path -> its bytes, unpacked
text          tab- or comma-separated text -> rows of fields
parquet       Parquet -> a frame
rdf           N-Triples and Turtle -> a frame (extra 'rdf')
frames        polars, pandas, arrays -> a frame
reader        any of them -> good rows, and the faults of the others
faults        all of them in one error
triples       triples and labels, apart from any graph
lookup        names -> ids of a graph
labelled      triples of a graph that are to be judged
graph_files   a file, a folder with train/valid/test, tables -> Graph
assemble      rows of names -> ids, splits, notes
"""

from hale.data.sources.graph_files import graph_from_tables, read_graph
from hale.data.sources.triples import Triples, read_triples

__all__ = ["Triples", "graph_from_tables", "read_graph", "read_triples"]
