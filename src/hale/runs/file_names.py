"""The files of a run, by name; runs/folder.py says what each holds."""

from __future__ import annotations

from hale.runs.header import SETTINGS

TRIPLES, MODEL = "triples.safetensors", "model.safetensors"
CHECKPOINT, TYPES = "checkpoint.safetensors", "types.tsv"
HISTORY, METRICS, ORIGIN = "history.jsonl", "metrics.json", "origin.json"
REVIEW, ACCEPTED = "review.jsonl", "accepted.tsv"
CALIBRATION, PATHS = "calibration.json", "paths.json"
MAP, MAP_DIGEST = "map.parquet", "map.sha256"
TEACHERS, LESSONS = "teachers.json", "lessons.safetensors"
RANKS = "ranks"
TRACKED = ("tensorboard", "mlruns", "mlflow", "wandb")  # folders of trackers
# All that hale keeps in a run, what other packages do and earlier versions did among them.
OWN = (
    *(SETTINGS, "entities.txt", "relations.txt", "labels.tsv", TYPES, TRIPLES, MODEL, HISTORY),
    *(METRICS, CHECKPOINT, ORIGIN, TEACHERS, LESSONS, RANKS, REVIEW, ACCEPTED, CALIBRATION, PATHS),
    *(MAP, MAP_DIGEST, *TRACKED),
)
