"""The run: curves of training, metrics, reliability, settings and origin."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from hale.serve.asking import ask
from hale.serve.pages.explorer import Explorer
from hale.serve.pages.rendering import page, render
from hale.serve.service import Service

if TYPE_CHECKING:
    from hale.evaluation.calibration import Calibration


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
        """Whether of the answers held likely by so much, so many are true."""
        calibration = await ask(request, lambda _check: self.explorer.calibration, slow=True)
        return render(self.explorer, "reliability.html", **reliability(calibration))

    @property
    def _service(self) -> Service:
        assert self.explorer.service is not None  # these routes come with it
        return self.explorer.service


def reliability(calibration: Calibration | None) -> dict[str, Any]:
    """What a calibration knows of itself: shown answers by how likely they were held to be."""
    from hale.evaluation.calibration import ByQuestions

    if calibration is None:
        return {"curve": None, "reason": "There is no valid split to calibrate on."}
    if not isinstance(calibration, ByQuestions):
        reason = "The run is calibrated against negatives that were given; nothing was held back."
        return {"curve": None, "reason": reason}
    told = calibration.reliability
    if told is None:
        reason = "There are too few validation facts to judge one half of them by the other."
        return {"curve": None, "reason": reason}
    bands = sorted((band for band in told.bands if band.count), key=lambda band: band.low)
    means = [band.probability for band in bands]
    return {
        "reason": None,
        "meaning": calibration.meaning,
        "told": told,
        "curve": {
            "title": "reliability",
            "x": "probability",
            "values": [
                [0.0, *means, 1.0],
                [None, *(band.share for band in bands), None],
                [0.0, *means, 1.0],
            ],
            "series": ["share that is true", "ideal"],
            "unit": True,
        },
    }


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
