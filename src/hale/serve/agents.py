"""Agents: the Model Context Protocol over a run, so that an agent can ask the graph.

Tools: search_entities, facts_of, predict, why, similar. Resources: hale://run and
hale://relations. By stdio, or by streamable HTTP behind the same door as REST.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Annotated, Any, Literal

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.transport_security import TransportSecuritySettings
from mcp.types import ToolAnnotations
from pydantic import Field
from starlette.types import ASGIApp

from hale import __version__
from hale.errors import HaleError
from hale.evaluation.calibration import meaning_of
from hale.serve.access import LOOPBACK, Access
from hale.serve.asked import MOST_LETTERS
from hale.serve.asking import Bodies, Bounds, Limits
from hale.serve.problems import Problem
from hale.serve.service import MOST, Json, Service

PATH = "/mcp"

INSTRUCTIONS = """\
A knowledge graph of facts (head, relation, tail) with a model that predicts facts it lacks. Read
hale://relations for the relations there are. Find entities by search_entities and name them by
their 'entity' in the other tools. Answers with "known": false are predictions, not facts: tell
them apart, with their probability p where there is one, and ask why for what supports them."""


def _text(description: str) -> Any:
    return Field(description=description, max_length=MOST_LETTERS)


Entity = Annotated[str, _text("An entity's id, or a label that only one has.")]
Relation = Annotated[str, _text("A relation, as hale://relations names it.")]
# The bounds are declared here and kept by the answers, in hale's own words.
Count = Annotated[
    int,
    Field(description="How many at most.", json_schema_extra={"minimum": 1, "maximum": MOST}),
]


def agent_server(service: Service, bounds: Bounds | None = None) -> MCPServer[Any]:
    """A server of the protocol over one run, with the bounds of REST.

    So many questions compute at once, so many wait, each for so long; who cancels ends its own.
    """
    limits = Limits(bounds or Bounds())
    server: MCPServer[Any] = MCPServer(
        "hale",
        instructions=f"{INSTRUCTIONS}\n{meaning_of(service.run)}",
        version=__version__,
        log_level="WARNING",
    )

    async def ask(question: Callable[[], Json]) -> Json:
        try:
            return await limits.ask(lambda _check: question())
        except (HaleError, Problem) as error:
            raise ToolError(str(error)) from None

    async def search_entities(
        text: Annotated[str, _text("A part of a name or label.")], k: Count = 20
    ) -> Json:
        """Entities whose name or label is, begins with or holds a text; the likeliest first."""
        return await ask(lambda: service.search(text, k=k))

    async def facts_of(entity: Entity, k: Count = 100) -> Json:
        """The facts that the graph holds of an entity, by relation, with the split of each."""
        return await ask(lambda: service.entity(entity, k=k))

    async def predict(
        head: Entity | None = None,
        relation: Relation | None = None,
        tail: Entity | None = None,
        k: Count = 10,
        known: Annotated[
            Literal["mark", "drop"], Field(description="Mark known facts, or leave them out.")
        ] = "mark",
    ) -> Json:
        """Predict the missing one of head, relation and tail: give two, get the best answers."""
        return await ask(
            lambda: service.predict(head=head, relation=relation, tail=tail, k=k, known=known)
        )

    async def why(head: Entity, relation: Relation, tail: Entity, k: Count = 5) -> Json:
        """Explain a fact: its rank and score, and the nearest known facts that support it."""
        return await ask(lambda: service.why(head, relation, tail, k=k))

    async def similar(
        entity: Entity,
        k: Count = 10,
        metric: Annotated[Literal["l2", "cosine"], Field(description="The distance.")] = "l2",
    ) -> Json:
        """The entities whose vectors are nearest to that of one."""
        return await ask(lambda: service.neighbors(entity, k=k, metric=metric))

    reading = ToolAnnotations(read_only_hint=True, open_world_hint=False)
    for tool in (search_entities, facts_of, predict, why, similar):
        server.add_tool(tool, annotations=reading)

    @server.resource("hale://run", mime_type="application/json")
    async def run() -> str:
        """The run: its graph, settings, how training went, and its metrics."""
        return json.dumps(await ask(service.run_info))

    @server.resource("hale://relations", mime_type="application/json")
    async def relations() -> str:
        """The relations, and how many facts each has."""
        return json.dumps(await ask(service.relations))

    return server


def agent_app(
    service: Service, *, token: str, host: str = LOOPBACK, bounds: Bounds | None = None
) -> ASGIApp:
    """The same by streamable HTTP at /mcp; it needs the token, and keeps no sessions."""
    bounds = bounds or Bounds()
    inner = agent_server(service, bounds).streamable_http_app(
        streamable_http_path=PATH,
        json_response=True,
        stateless_http=True,
        max_request_body_size=bounds.body,
        # Host and Origin are checked at the door
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
    )
    return Access(Bodies(inner, bounds=bounds), token=token, host=host)
