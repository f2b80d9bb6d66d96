"""The map: its page, points, colours and selections; and names completed as one types."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from hale.data.graph import Ids
from hale.errors import InputError
from hale.serve.asking import ask
from hale.serve.map.colours import ways
from hale.serve.pages.explorer import Explorer
from hale.serve.pages.rendering import Handler, page, render, whole
from hale.serve.problems import Problem

LISTED = 200  # entities of a selection that the page lists; the download has all
COMPLETED = 12
MOST_LETTERS = 2000  # of what is typed
CARD_FACTS = 8
BINARY = "application/octet-stream"


def map_routes(explorer: Explorer) -> list[Route]:
    """The first view, and what it asks for."""
    pages = _Map(explorer)
    return [
        Route("/", page(explorer, "map")(in_thread(pages.page))),
        *(
            Route(f"/map/{name}", in_thread(getattr(pages, name)))
            for name in ("points", "colours", "entity", "card")
        ),
        Route("/map/status", pages.status),
        Route("/map/selection", pages.selection, methods=["POST"]),
        Route("/map/selection.tsv", pages.download, methods=["POST"]),
        Route("/complete", in_thread(pages.complete)),
    ]


def in_thread(answer: Callable[[Request], Response]) -> Handler:
    """A handler that is computed in a thread, with the bounds of every question."""

    async def handler(request: Request) -> Response:
        return await ask(request, lambda _check: answer(request))

    return handler


def frame(head: dict[str, Any], numbers: bytes) -> Response:
    """A JSON text behind its length (4 bytes, little end first), then numbers as they lie."""
    text = json.dumps(head).encode()
    return Response(len(text).to_bytes(4, "little") + text + numbers, media_type=BINARY)


class _Map:
    def __init__(self, explorer: Explorer) -> None:
        self.explorer = explorer

    def page(self, request: Request) -> Response:
        by = request.query_params.get("colour", "cluster")
        choices = ways(self.explorer.graph)
        if by not in [value for value, _ in choices]:
            by = "cluster"
        return render(self.explorer, "map.html", view="map", by=by, choices=choices)

    def points(self, _request: Request) -> Response:
        """Where the points are, float32 (N, 2), and the clusters."""
        layout = self.explorer.atlas.layout
        version = self.explorer.atlas.version_of(layout)
        clusters = [
            {
                "x": cluster.x,
                "y": cluster.y,
                "size": cluster.size,
                "name": cluster.name,
                "detail": "; ".join(
                    f"{trait} ({trait.inside:,} of {trait.overall:,})" for trait in cluster.traits
                ),
            }
            for cluster in layout.clusters
        ]
        head = {"kind": layout.kind, "version": version, "clusters": clusters}
        return frame(head, np.ascontiguousarray(layout.xy, dtype="<f4").tobytes())

    def colours(self, request: Request) -> Response:
        """A colour of each point, uint8 (N,), and the legend."""
        painting = self.explorer.atlas.painting(request.query_params.get("by", "cluster"))
        return frame(painting.legend(), painting.colours.tobytes())

    async def status(self, _request: Request) -> Response:
        """What is shown and what is being made."""
        return JSONResponse(self.explorer.atlas.status())

    def entity(self, request: Request) -> Response:
        """What is told of a point that is hovered."""
        return JSONResponse(self._told(self._number(request)))

    def card(self, request: Request) -> Response:
        """What is told of a point that is chosen."""
        number = self._number(request)
        graph, told = self.explorer.graph, self._told(number)
        facts: list[dict[str, Any]] = []
        for split in (graph.train, graph.valid, graph.test):
            mine = split[(split[:, 0] == number) | (split[:, 2] == number)]
            facts += [
                {
                    "head": self._named(int(head)),
                    "relation": graph.relations[int(relation)],
                    "tail": self._named(int(tail)),
                }
                for head, relation, tail in mine[: CARD_FACTS - len(facts)].tolist()
            ]
        layout = self.explorer.atlas.layout
        own = int(layout.cluster[number])
        cluster = layout.clusters[own] if own >= 0 else None
        return render(self.explorer, "card.html", told=told, facts=facts, cluster=cluster)

    async def selection(self, request: Request) -> Response:
        """The first entities of an outline, as a list."""
        ids = await self._ids(request)
        return await ask(request, lambda _check: self._listed(ids))

    def _listed(self, ids: Ids) -> Response:
        shown = [self._told(number) for number in ids[:LISTED].tolist()]
        return render(self.explorer, "selection.html", shown=shown, count=len(ids))

    async def download(self, request: Request) -> Response:
        """All entities of an outline, as text with tabs."""
        ids = await self._ids(request)
        text = await ask(request, lambda _check: self._table(ids), slow=True)
        return Response(text, media_type="text/tab-separated-values")

    def _table(self, ids: Ids) -> bytes:
        from hale.export.table_file import write_table

        graph, layout = self.explorer.graph, self.explorer.atlas.layout
        names = graph.entities.column.gather(ids)
        clusters = [*(cluster.name for cluster in layout.clusters), None]
        table = pl.DataFrame(
            {
                "entity": names,
                "label": pl.Series([graph.label(name) for name in names], dtype=pl.String),
                "facts": self.explorer.atlas.degrees[ids],
                "cluster": pl.Series(clusters, dtype=pl.String).gather(
                    layout.cluster[ids] % len(clusters)
                ),
                "x": layout.xy[ids, 0],
                "y": layout.xy[ids, 1],
            }
        )
        text = io.BytesIO()
        write_table(table, text, ".tsv")
        return text.getvalue()

    def complete(self, request: Request) -> Response:
        """Names that begin or go on like what was typed."""
        text = request.query_params.get("q", "").strip()[:MOST_LETTERS]
        graph = self.explorer.graph
        if request.query_params.get("kind") == "relation":
            names = graph.relations.column
            found = names.filter(names.str.to_lowercase().str.contains(text.lower(), literal=True))
            first = found.to_frame("name").sort(
                ~pl.col("name").str.to_lowercase().str.starts_with(text.lower()),
                maintain_order=True,
            )["name"]
            named = [{"name": name, "label": None} for name in first[: 4 * COMPLETED]]
        else:
            numbers = self.explorer.finder.find(text, COMPLETED) if text else []
            named = [self._named(number) for number in numbers]
        return render(self.explorer, "complete.html", found=named, text=text)

    # -- helpers ----------------------------------------------------------------------------------

    def _named(self, number: int) -> dict[str, Any]:
        name = self.explorer.graph.entities[number]
        return {"name": name, "label": self.explorer.graph.label(name)}

    def _told(self, number: int) -> dict[str, Any]:
        degree = int(self.explorer.atlas.degrees[number])
        return {"id": number, **self._named(number), "degree": degree}

    def _number(self, request: Request) -> int:
        """The entity of a request, by ?id= or ?name=."""
        graph, given = self.explorer.graph, request.query_params
        if "name" in given:
            return graph.entity_id(given["name"])
        number = whole(given.get("id", ""))
        if number is None or number >= len(graph.entities):
            raise InputError(f"There is no entity number {given.get('id', '')[:20]!r}.")
        return number

    async def _ids(self, request: Request) -> Ids:
        """The points of a selection: uint32, each once."""
        count = len(self.explorer.graph.entities)
        body = bytearray()
        async for part in request.stream():
            body += part
            if len(body) > 4 * count:
                raise Problem(413, f"A selection has at most {count:,} entities.")
        if len(body) % 4:
            raise Problem(400, "A selection is numbers of 4 bytes.")
        ids = np.frombuffer(bytes(body), dtype="<u4").astype(np.int64)
        if len(ids) and ids.max() >= count:
            raise Problem(422, f"There are {count:,} entities; the selection has others.")
        return ids
