"""The embedding projector of TensorBoard."""

from __future__ import annotations

from pathlib import Path

from hale.export.npy import write_lines
from hale.export.text_rows import joined, write_rows
from hale.export.vectors import Tables

CONFIG = """\
embeddings {
  tensor_name: "entities"
  tensor_path: "vectors.tsv"
  metadata_path: "metadata.tsv"
}
embeddings {
  tensor_name: "relations"
  tensor_path: "relations.vectors.tsv"
  metadata_path: "relations.metadata.tsv"
}
"""


def write_tensorboard(tables: Tables, folder: Path) -> None:
    """vectors.tsv and metadata.tsv, the same for relations, and projector_config.pbtxt.

    `tensorboard --logdir FOLDER` finds them; the projector on the web loads them
    by hand. Metadata of two columns has a header, metadata of one has none.
    """
    with (folder / "vectors.tsv").open("wb") as file:
        write_rows(file, tables.entities, separator="\t")
    with (folder / "relations.vectors.tsv").open("wb") as file:
        write_rows(file, joined(tables), separator="\t")
    named = zip(tables.names, tables.labels, strict=True)
    rows = (f"{name}\t{label or name}" for name, label in named)
    write_lines(folder / "metadata.tsv", ["name\tlabel", *rows])
    write_lines(folder / "relations.metadata.tsv", tables.row_names)
    (folder / "projector_config.pbtxt").write_text(CONFIG, encoding="utf-8")
