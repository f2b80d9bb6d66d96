"""Benchmarks that a user can run: each returns rows, ready for a table and for JSON.

machine   what the figures were measured on, and its matrix-product peak
timing    rivals in turns, so that a noisy moment hits them alike
kernel    the uniformity term: autograd, torch.compile, tiles, native
step      where a training step's time goes
ranking   evaluation: time and peak memory
growth    time and memory of a step as the number of entities grows, with blocks and without
nearest   an index against the exact search: recall and speed
race      quality over time against PyKEEN
kills     runs whose ranks are killed: their weights beside those of a run that was not broken
"""
