"""Sources: files and tables -> rows of names -> Graph, all by one reader.

layout        which columns a kind of file has
headers       what columns are called
arrangement   which column of a file at hand is which
archive       the files in a zip archive
compression   a path -> its bytes, unpacked
text          separated text -> rows of fields
separated     rows of fields -> good rows
json_lines    JSON lines -> good rows
parquet       Parquet -> a frame
rdf           RDF -> a frame (extra 'rdf')
frames        polars, pandas, arrays -> a frame
reader        any of them -> good rows, and the faults of the others
records       good rows and faults; which rows are good
faults        all of them in one error
doubts        signs that a file was not read as it was meant
triples       triples and labels, apart from any graph
lookup        names -> ids of a graph
labelled      triples of a graph that are to be judged
graph_files   a file, a folder with train/valid/test, tables -> Graph
assemble      rows of names -> ids, splits, notes
"""

from hale.data.sources.graph_files import graph_from_tables, read_graph
from hale.data.sources.triples import Triples, read_triples

__all__ = ["Triples", "graph_from_tables", "read_graph", "read_triples"]
