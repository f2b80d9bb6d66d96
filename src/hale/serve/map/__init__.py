"""The map of a run: all entities in the plane, in named clusters, without waiting for PyTorch.

first_sight  names, facts and vectors straight from a run's files
projection   vectors to the plane: principal components at once, t-SNE in its time
clusters     where points are dense, named by the facts that are over-represented there
map_file     a layout kept with the run as map.parquet
drawing      the process that makes a layout by t-SNE and keeps it
colours      a colour for every entity: by cluster, degree, type or relation
atlas        the layout that is shown, and the better one on its way
"""
