"""Data: files, frames and names -> Graph; named data sets; revisions of a graph."""
