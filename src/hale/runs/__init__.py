"""Runs: a trained model on disk, and which model, strategy and activation go together.

run       a trained model with its graph, settings and history, and the way back from its folder
folder    the files of a run
named_vectors    vectors of a run as NumPy, with their names
training_curve   a run as a small picture
header    settings.json: what a run is, and the checksums of its files
seal      a checksum in every JSON object of a run
blame     errors that name the file they come from
lock      one writer at a time
systems   settings completed, a model and an objective built from them, or the reason why not
"""
