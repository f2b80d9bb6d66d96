"""The pages of ``hale explore``: routes and what their templates are filled with.

explorer      what the pages share: the run, its map, the review, the update
rendering     templates to answers; errors as pages
map_page      the map, its points, colours and selections; names completed
entity_page   one entity: what is known of it, and predicted
surroundings  the small graph around an entity
ask_page      a fact with one blank; and why
review_page   missing facts judged by a person; the update
run_page      curves, metrics, reliability, settings
"""

from __future__ import annotations

from collections.abc import Sequence

from starlette.routing import Mount, Route

from hale.serve.pages.explorer import Explorer
from hale.serve.pages.map_page import map_routes
from hale.serve.pages.rendering import static_files


def early_routes(explorer: Explorer) -> list[Route | Mount]:
    """What can be answered before the run is loaded: the map and the search over it."""
    return [static_files(), *map_routes(explorer)]


def late_routes(explorer: Explorer) -> Sequence[Route | Mount]:
    """What asks the run itself."""
    from hale.serve.pages.ask_page import ask_routes
    from hale.serve.pages.entity_page import entity_routes
    from hale.serve.pages.review_page import review_routes
    from hale.serve.pages.run_page import run_routes

    return [
        *entity_routes(explorer),
        *ask_routes(explorer),
        *review_routes(explorer),
        *run_routes(explorer),
    ]
