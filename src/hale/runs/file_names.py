"""The files of a run, by name; runs/folder.py says what each holds."""

from __future__ import annotations

from hale.runs.header import SETTINGS

TRIPLES, MODEL = "triples.safetensors", "model.safetensors"
CHECKPOINT, TYPES = "checkpoint.safetensors", "types.tsv"
HISTORY, METRICS, ORIGIN = "history.jsonl", "metrics.json", "origin.json"
REVIEW = "review.jsonl"
TEACHERS, LESSONS = "teachers.json", "lessons.safetensors"
RANKS = "ranks"
# All that hale keeps in a run, what other packages do and earlier versions did among them.
OWN = (
    *(SETTINGS, "entities.txt", "relations.txt", "labels.tsv", TYPES, TRIPLES, MODEL, HISTORY),
    *(METRICS, CHECKPOINT, ORIGIN, TEACHERS, LESSONS, RANKS, REVIEW, "calibration.json"),
    *("paths.json", "map.parquet", "map.sha256", "accepted.tsv"),
    *("tensorboard", "mlruns", "mlflow", "wandb"),
)
