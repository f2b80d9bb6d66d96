"""Writing: the folder of an updated run, which appears whole at the end."""

from __future__ import annotations

import shutil
from dataclasses import asdict
from pathlib import Path

from hale.data.files import whole_folder
from hale.runs.folder import METRICS, ORIGIN, RunFolder
from hale.runs.run import Run
from hale.training import checkpoint
from hale.training.trainer import Trainer


def write_run(trainer: Trainer, run: Run, out: str | Path, *, overwrite: bool = False) -> None:
    """Give a finished run that lived in memory a folder."""

    def fill(folder: RunFolder) -> None:
        checkpoint.save(folder, trainer.state, trainer.model, trainer.optimizer, kept=False)
        folder.write_json(METRICS, {"training": asdict(run.summary), **run.metrics})
        if run.origin:
            folder.write_json(ORIGIN, run.origin)

    RunFolder.create(
        out,
        run.settings,
        run.graph,
        trainer.model.state_dict(),
        overwrite=overwrite,
        step=trainer.state.kept_step,
        fill=fill,
    )
    run.path = Path(out)
    run.stamp = RunFolder(out).stamp()


def copy_run(run: Run, out: str | Path, *, overwrite: bool = False) -> None:
    """Let a run that nothing changed stand in another folder too, file by file."""
    target = Path(out).absolute()
    if run.path is None:
        RunFolder.create(
            out,
            run.settings,
            run.graph,
            run.model.state_dict(),
            overwrite=overwrite,
            step=run.summary.kept_step,
            fill=lambda folder: folder.write_json(
                METRICS, {"training": asdict(run.summary), **run.metrics}
            ),
        )
    elif target != run.path.absolute():
        taken = RunFolder(out).is_taken(overwrite=overwrite)
        with whole_folder(target, replace=taken) as waiting:
            for path in run.path.iterdir():
                if path.is_file() and not path.name.startswith("."):
                    shutil.copyfile(path, waiting / path.name)
    run.path = Path(out)
    run.stamp = RunFolder(out).stamp()
