"""Experiments: the paper's tables and figures as declarations, and the runner that fills them.

published     the figures that the paper reports
experiments   which systems each table and figure compares, on which data, for how long (a
              declaration); beyond those that go beyond the paper
plan          at which share of that time, with how many seeds, and how it stands
searches      the settings of every row, by as many trials of the same time; run_search
cells         one trained system: its file; filling how it is trained and ranked; rank_files
damaged       what becomes of those files where they cannot be read
table_rows    finished cells compared triple by triple (significance)
render, page  finished cells to Markdown tables and figures (preface); relation_page by relation
"""

from hale.lab.paper.cells import Cell, Filled, is_current, read_cells
from hale.lab.paper.declaration import Entry, Experiment
from hale.lab.paper.experiments import EXPERIMENTS
from hale.lab.paper.filling import fill

__all__ = [
    "EXPERIMENTS",
    "Cell",
    "Entry",
    "Experiment",
    "Filled",
    "fill",
    "is_current",
    "read_cells",
]
