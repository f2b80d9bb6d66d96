"""Model: a query vector and the entities; the base compares them."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from hale.data.graph import GraphSize
from hale.engine import geometry
from hale.engine.blocks import Block
from hale.engine.randomness import draw_rows
from hale.engine.rows import with_rows
from hale.engine.steady import steady
from hale.engine.turns import Rotation
from hale.errors import SettingsError
from hale.models.comparing import Comparing
from hale.models.dropout import Dropout
from hale.models.model_options import Similarity
from hale.models.residual import Residual
from hale.models.tables import Table, relation_table
from hale.settings.space import Space

# softplus(ONE) = 1: every relation's scale starts at one.
ONE = math.log(math.e - 1)

# The score of what is ruled out: below all others, and finite, since NaN and infinity are faults.
LAST = -1e30


class Model(Comparing, ABC):
    """A knowledge-graph embedding: a query (head, relation) is a vector, compared with entities.

        score(h, r, t) = s(query(h, r), e_t)  [+ b_h + b_t]  [- u_t^2]

        s(q, e) = -||q - e||^2          'l2', which the paper takes for every model
                   <q, e>               'dot', of the factorisations
                  -d_c(q, exp_0(e))^2   'hyperbolic', on the Poincare ball
                  -||q - P_r(e)||^2     'projected', an entity moved by the relation first
                   f(q, e)              'network', a small one over both

    Relation r + R is the reciprocal of r, so (t, r + R) asks for heads. A model
    knows nothing of losses, ranking, devices or files. In training, ``dropout``
    zeroes that share of the coordinates of a query, and of whatever lies between.

    With ``heights`` the vector of an entity has one more coordinate u_t, the last, at which
    all queries are zero: a bias inside the squared L2 distance, by which rare answers stand
    back. What compares queries with entities needs to know nothing of it; the sign has no
    meaning, so what compares entities with each other takes their ``places``.

    Relations that turn or stretch a head start with any angle and sign. Of the turns beyond a
    quarter and of the negative factors, ``near`` takes a share away, so that relations change a
    head less at first.

    With a ``residual`` of so many hidden units a small network adds to the queries of the transform
    (models/residual.py).

    Without ``loops`` an entity comes last among the answers to a query about itself, for the
    relations that ``may_loop`` does not name: who trains the model tells it which do.
    """

    name: ClassVar[str]
    formula: ClassVar[str]  # of the query vector
    source: ClassVar[str]  # who proposed it
    cost: ClassVar[str]  # of a query vector, in multiplications
    similarities: ClassVar[tuple[Similarity, ...]] = ("l2",)  # its own first
    uses: ClassVar[frozenset[str]] = frozenset()  # settings that are for such models alone
    space: ClassVar[Space] = ()  # what a search moves of those
    relation_vector: ClassVar[str | None] = None  # the table of the one vector a relation has
    takes_near: ClassVar[bool] = False  # whether its relations start from turns or signed factors
    drops_queries: ClassVar[bool] = True  # whether dropout ends with the query vectors
    comparison: ClassVar[int] = (
        1  # with an entity, by the time of an L2 distance; 1 for all but slow
    )
    vectors_each: ClassVar[int] = 1  # vectors of d numbers in the row of an entity, its place first
    own_biases: ClassVar[bool] = False  # whether it comes with them, unless told otherwise
    defaults: ClassVar[Mapping[str, Mapping[str, object]]] = {}  # settings by strategy
    revision: ClassVar[int] = 1  # of its scores: figures of an earlier one are of another model

    def __init__(
        self,
        size: GraphSize,
        dim: int,
        *,
        init_scale: float = 0.1,
        near: float = 0.0,
        similarity: Similarity | None = None,
        biases: bool | None = None,
        dropout: float = 0.0,
        heights: bool = False,
        loops: bool = True,
        residual: int = 0,
    ) -> None:
        super().__init__()
        self.size = size
        self.dim = dim
        self.heights = heights
        self.init_scale = init_scale
        self.near = near
        self.similarity: Similarity = similarity or self.similarities[0]
        if self.similarity not in self.similarities:
            its = " or ".join(self.similarities)
            fault = f"similarity: {self.name} compares by {its}, not by {self.similarity}"
            raise SettingsError([fault])
        if heights and self.similarity != "l2":
            raise SettingsError([f"heights: they go with l2, this compares by {self.similarity}"])
        self.entity = Table(size.num_entities, self.vectors_each * dim + heights)
        draw_rows(self.entity.weight, init_scale, size.first)
        self.free_scale = relation_table(size, 1)
        nn.init.constant_(self.free_scale.weight, ONE)
        self.head_bias: Table | None = None
        self.tail_bias: Table | None = None
        if self.own_biases if biases is None else biases:
            self.head_bias, self.tail_bias = (Table(size.num_entities, 1) for _ in range(2))
            for table in (self.head_bias, self.tail_bias):
                nn.init.zeros_(table.weight)
        self.dropout = Dropout(dropout)
        self.residual: Residual | None = None
        if residual:
            self.residual = Residual(size, dim, residual, self.dropout, init_scale=init_scale)
        self.block_maps: int | None = None  # k, where queries are B_r e_h + r' in k x k blocks
        self.may_loop: Tensor | None  # (2R, 1), kept with the weights
        free = torch.ones(2 * size.num_relations, 1, dtype=torch.bool)
        self.register_buffer("may_loop", None if loops else free)

    def see(self, facts: Tensor) -> None:
        """Take the training facts (n, 3), for models whose vectors are computed from them.

        Whoever makes a model for a graph hands them over; the others have no use for them.
        """

    @abstractmethod
    def transform(self, vectors: Tensor, relation: Tensor) -> Tensor:
        """The paper's transform function: head vectors (B, d) and relations (B,) -> (B, d)."""

    def query(self, head: Tensor, relation: Tensor) -> Tensor:
        """The query vectors: (B,), (B,) -> (B, d), or (B, d + 1) with heights."""
        return self.query_of(self.entity(head), relation)

    def query_of(self, vectors: Tensor, relation: Tensor) -> Tensor:
        """The query vectors of heads that were looked up: (B, d), (B,) -> (B, d).

        With heights both have a column more, of zeros in what is returned.
        """
        if not self.heights:
            return self._dropped(vectors, relation)
        return functional.pad(self._dropped(vectors[:, :-1], relation), (0, 1))

    def _dropped(self, vectors: Tensor, relation: Tensor) -> Tensor:
        queries = self.transform(vectors, relation)
        if self.residual is not None:
            queries = queries + self.residual(vectors, relation)
        if not self.drops_queries:
            return queries
        dropped: Tensor = self.dropout(queries)
        return dropped

    @property
    def is_turn_or_map(self) -> bool:
        """Whether queries are a rotation or block maps and nothing else, as the kernel has them."""
        turns = self.block_maps is not None or self.rotation_parameters() is not None
        return turns and self.residual is None

    def rotation_parameters(self) -> Rotation | None:
        """What is trained, turns as pairs of free length, where queries are a rotation alone."""
        return None

    def rotation(self) -> Rotation:
        """What turns a head into a query: its turns are pairs of length one."""
        trained = self.rotation_parameters()
        assert trained is not None
        return trained._replace(turns=geometry.unit_pairs(trained.turns))

    def entities(self) -> Tensor:
        """The entity vectors held here, (N, d) or (N, d + 1): all, unless a group shares them."""
        return self.entity.rows()

    def look_up(self, block: Block | None, *ids: Tensor) -> tuple[Tensor, ...]:
        """The vectors of a block of entities, of all where it is None, and of others by their ids.

        -> (s, d) or (N, d), and (B, d) for each ids (B,). Of all the gradient is dense and made
        in place, so they are for one use by the engine (see engine.rows.with_rows).
        """
        table = self.entity.rows()
        if block is None:
            return with_rows(table, *ids)
        return self.entity.look_up(block.ids.to(table.device), *ids)

    def places(self) -> Tensor:
        """Where the entities are (N, d), to be compared with each other: without their heights."""
        return self.entity.rows()[:, : self.dim]

    def scale(self, relation: Tensor) -> Tensor:
        """The relation's positive scale c_r inside the activation: (B,) -> (B,).

        softplus of a free parameter: left free, c_r can cross zero, and the
        loss is not finite from then on.
        """
        return functional.softplus(self.free_scale(relation)).squeeze(-1)

    def bias(self, head: Tensor, tail: Tensor) -> Tensor | float:
        """b_h + b_t: (B,), (B,) or (B, K) -> as ``tail``; 0 without biases."""
        if self.head_bias is None or self.tail_bias is None:
            return 0.0
        heads: Tensor = self.head_bias(head)
        tails: Tensor = self.tail_bias(tail.flatten())
        return (heads + tails.view(len(head), -1)).view_as(tail)

    def ruled_out(self, relation: Tensor) -> Tensor | None:
        """Whether a head is no answer to its own query: (B,) -> (B,); None where it always is."""
        if self.may_loop is None:
            return None
        return ~self.may_loop.index_select(0, relation).squeeze(1)

    def without_loops(
        self, scores: Tensor, head: Tensor, relation: Tensor, first: int = 0
    ) -> Tensor:
        """Scores (B, K) of the entities from ``first`` on, the head last where it is ruled out.

        The table of scores is changed in place.
        """
        out = self.ruled_out(relation)
        if out is None:
            return scores
        out = out & (head >= first) & (head < first + scores.shape[1])
        rows = out.nonzero().squeeze(1)
        return scores.index_put_((rows, head[rows] - first), scores.new_tensor(LAST))

    def score(self, head: Tensor, relation: Tensor, tail: Tensor) -> Tensor:
        """Scores of triples, higher is better: (B,), (B,), (B,) -> (B,)."""
        scores, out = self.score_by_vectors(head, relation, tail), self.ruled_out(relation)
        return scores if out is None else scores.masked_fill(out & (head == tail), LAST)

    def score_by_vectors(self, head: Tensor, relation: Tensor, tail: Tensor) -> Tensor:
        """The same, whatever is ruled out: for training."""
        queries, tails = self.query(head, relation), self.entity(tail)
        if self.similarity == "l2":  # the difference itself keeps more digits
            return self.bias(head, tail) - geometry.squared_distance(queries, tails)
        compared = self.compare(queries, tails.unsqueeze(1), self.comparing(relation))
        return compared.squeeze(1) + self.bias(head, tail)

    def score_all(
        self, head: Tensor, relation: Tensor, first: int = 0, last: int | None = None
    ) -> Tensor:
        """Scores of all entities, or of those from first to before last: (B,), (B,) -> (B, N)."""
        scores = self.score_rows(head, relation, slice(first, last))
        return self.without_loops(scores, head, relation, first)

    def score_rows(self, head: Tensor, relation: Tensor, rows: slice | Tensor) -> Tensor:
        """Scores of some entities, whatever is ruled out: (B,), (B,) -> (B, K)."""
        queries, entities = self.query(head, relation), self.entity.held(rows)
        scores = steady(self.compare_all, queries, entities, self.comparing(relation))
        if self.head_bias is not None and self.tail_bias is not None:
            heads: Tensor = self.head_bias(head)
            scores = scores + heads + self.tail_bias.held(rows).T
        return scores

    def penalty(self, triples: Tensor, power: float) -> Tensor:
        """The mean over triples (B, 3) of sum |h|^p + sum |t|^p + sum |r|^p, r all of its rows.

        With p = 3 the nuclear 3-norm of Lacroix et al. (2018). Heights are left alone.
        """
        head, relation, tail = triples.unbind(dim=1)
        return self.penalty_of(self.entity(torch.cat((head, tail))), relation, power)

    def penalty_of(self, rows: Tensor, relation: Tensor, power: float) -> Tensor:
        """Of heads and tails looked up: (2B, d), (B,). Powers of relations are taken once a row."""
        total = 2 * self.sizes(rows[:, : self.dim]).pow(power).sum(dim=-1).mean()
        for table in self.relation_rows():
            total = total + self.sizes(table).pow(power).flatten(1).sum(dim=-1)[relation].mean()
        return total

    def sizes(self, rows: Tensor) -> Tensor:
        """The magnitudes of a table's entries that a penalty is laid on: (n, d) -> (n, d')."""
        return rows.abs()

    def relation_rows(self) -> list[Tensor]:
        """The relation tables (2R, ...) that a penalty is laid on."""
        return []
