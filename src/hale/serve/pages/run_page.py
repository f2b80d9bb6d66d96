"""The run: curves of training, metrics, reliability, settings and origin."""

from __future__ import annotations

from typing import Any

import numpy as np
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from hale.serve.asking import ask
from hale.serve.pages.explorer import Explorer
from hale.serve.pages.rendering import page, render
from hale.serve.service import Service

# Facts whose probabilities are compared with the truth, and as many corruptions of them.
COMPARED = 5000


def run_routes(explorer: Explorer) -> list[Route]:
    """The page, and the plot that it loads when it is there."""
    pages = _RunPage(explorer)
    return [
        Route("/run", page(explorer, "run")(pages.page)),
        Route("/run/reliability", page(explorer, "run")(pages.reliability)),
    ]


class _RunPage:
    def __init__(self, explorer: Explorer) -> None:
        self.explorer = explorer

    async def page(self, request: Request) -> Response:
        info = await ask(request, lambda _check: self._service.run_info())
        return render(
            self.explorer,
            "run.html",
            view="run",
            info=info,
            curves=curves(info["history"]),
            origin=self._service.run.origin,
            run_path=str(self.explorer.run),
        )

    async def reliability(self, request: Request) -> Response:
        """Whether of the facts held likely by so much, so many are true."""
        found = await ask(request, lambda _check: self._reliability(), slow=True)
        return render(self.explorer, "reliability.html", **found)

    def _reliability(self) -> dict[str, Any]:
        from hale.evaluation.calibration import corrupt
        from hale.evaluation.classification import classify

        run, calibration = self._service.run, self.explorer.calibration
        if calibration is None:
            return {"curve": None, "reason": "There is no valid split to calibrate on."}
        true = run.graph.test
        if not len(true):
            return {"curve": None, "reason": "The graph has no test split to compare with."}
        if len(true) > COMPARED:
            drawn = np.random.default_rng(0).choice(len(true), COMPARED, replace=False)
            true = true[np.sort(drawn)]
        false = corrupt(run.graph, true, seed=1)
        if not len(false):
            return {"curve": None, "reason": "Every corruption of a test fact is a known fact."}
        triples = np.concatenate([true, false])
        quality = classify(run, triples, calibration=calibration).quality(
            np.arange(len(triples)) < len(true)
        )
        bins = quality.bins
        return {
            "reason": None,
            "quality": quality,
            "num_true": len(true),
            "num_false": len(false),
            "curve": {
                "title": "reliability",
                "x": "probability",
                "values": [
                    [0.0, *(part.probability for part in bins), 1.0],
                    [None, *(part.share for part in bins), None],
                    [0.0, *(part.probability for part in bins), 1.0],
                ],
                "series": ["share that is true", "ideal"],
                "unit": True,
            },
        }

    @property
    def _service(self) -> Service:
        assert self.explorer.service is not None  # these routes come with it
        return self.explorer.service


def curves(history: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What training measured, by the seconds that it had taken."""
    seconds = [record["seconds"] for record in history]
    found = []
    for title, part, wanted in (
        ("Quality on validation triples", "metrics", ("mrr", "hits@1", "hits@3", "hits@10")),
        ("Loss of the step", "losses", None),
    ):
        names = wanted or tuple(dict.fromkeys(name for record in history for name in record[part]))
        series = [name for name in names if any(name in record[part] for record in history)]
        if series:
            values = [[record[part].get(name) for record in history] for name in series]
            found.append(
                {
                    "title": title,
                    "x": "seconds of training",
                    "values": [seconds, *values],
                    "series": series,
                    "unit": False,
                }
            )
    return found
