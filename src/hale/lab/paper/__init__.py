"""Experiments: the paper's tables and figures as declarations, and the runner that fills them.

paper      the figures that the paper reports
declared   which systems each table and figure compares, on which data, for how long
cells      one trained system: its file, and how it is filled
render     finished cells to Markdown tables and figures, paper and ours side by side
"""

from hale.lab.paper.cells import Cell, Filled, fill, is_current, read_cells
from hale.lab.paper.experiments import EXPERIMENTS, Entry, Experiment

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
