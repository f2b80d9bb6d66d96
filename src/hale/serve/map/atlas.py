"""Atlas: the layout that is shown, and the better one on its way."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

from hale.data.graph import Graph
from hale.serve.map.colours import Painting, degrees, paint
from hale.serve.map.first_sight import FirstSight
from hale.serve.map.map_file import Layout, read_map
from hale.serve.map.projection import SAMPLE, pca

KINDS = {"pca": "principal components", "tsne": "t-SNE"}


class Atlas:
    """The map of one run: a layout by principal components until one by t-SNE is kept with it."""

    def __init__(self, run: Path, seen: FirstSight) -> None:
        self.run, self.graph, self.weights = run, seen.graph, seen.weights
        kept = read_map(run, seen.graph, seen.weights)
        self.layout = kept or Layout.of("pca", pca(seen.places), seen.graph)
        self.degrees = degrees(seen.graph)
        self._paintings: dict[tuple[str, str], Painting] = {}
        self._painting = threading.Lock()
        self._child: subprocess.Popen[str] | None = None
        self._share, self._error = 0.0, ""
        self._doing = "" if kept else "soon"  # what is being done, until it is over

    @property
    def version(self) -> str:
        """Another one once the layout is another."""
        return self.version_of(self.layout)

    def version_of(self, layout: Layout) -> str:
        """That of a layout in hand: the one that is shown may be exchanged at any moment."""
        return f"{layout.kind}-{self.weights}"

    def take_graph(self, graph: Graph) -> None:
        """The same graph as somebody else holds it, so that there is one."""
        self.graph = graph

    def painting(self, by: str) -> Painting:
        """The colours by something; the last few are kept."""
        layout = self.layout
        key = (self.version_of(layout), by)
        with self._painting:
            kept = self._paintings.get(key)
        if kept is not None:
            return kept
        made = paint(self.graph, layout, by)
        with self._painting:
            while len(self._paintings) >= 4:
                self._paintings.pop(next(iter(self._paintings)))
            self._paintings[key] = made
        return made

    # -- the layout on its way ----------------------------------------------------------------

    def improve(self) -> None:
        """Begin the layout by t-SNE in a process of its own, unless it is there."""
        if not self._doing or self._child is not None:
            return
        self._doing = "starting"
        self._child = subprocess.Popen(  # noqa: S603
            [sys.executable, "-P", "-m", "hale.serve.map.drawing", str(self.run.absolute())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        threading.Thread(target=self._follow, args=(self._child,), daemon=True).start()

    def _follow(self, child: subprocess.Popen[str]) -> None:
        """Read what the process tells, and show what it made."""
        with child:  # closes its pipes
            for line in child.stdout or ():
                told = json.loads(line)
                self._error = told.get("error", self._error)
                self._share = told.get("share", self._share)
                self._doing = told.get("doing", self._doing)
        if child.returncode == 0:
            kept = read_map(self.run, self.graph, self.weights)
            if kept is not None:
                self.layout = kept
            else:
                self._error = "the run was trained on meanwhile; start hale explore again"
        elif not self._error:
            self._error = f"the process that makes it ended with status {child.returncode}"
        self._doing = ""

    def close(self) -> None:
        """End the process that is at work, if one is."""
        if self._child is not None and self._child.poll() is None:
            self._child.terminate()

    def status(self) -> dict[str, Any]:
        """What is shown and what is being made, for people."""
        count, layout = len(self.graph.entities), self.layout
        text = f"{count:,} entities by {KINDS[layout.kind]}"
        if layout.kind == "tsne" and count > SAMPLE:
            text += f" of {SAMPLE:,}, the others beside their neighbours"
        if self._doing:
            text += f"; a layout by t-SNE is being made: {self._share:.0%} ({self._doing})"
        elif self._error:
            text += f"; no layout by t-SNE: {self._error}"
        return {"text": text, "version": self.version_of(layout), "working": bool(self._doing)}
