"""Grow: a model for a larger graph that scores all it knows exactly as before."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from hale.data.graph import GraphSize
from hale.errors import InputError
from hale.models.base import Model
from hale.models.tables import RelationTable, Table

CHUNK = 1 << 16  # rows that are carried at once: no second table is made beside the new one


def known_relation_rows(old: GraphSize, new: GraphSize) -> Tensor:
    """Where the rows of a relation table go when it grows: (2R,), ids in the new table.

    Relation r stays r; its reciprocal r + R becomes r + R'.
    """
    relations = torch.arange(old.num_relations)
    return torch.cat((relations, relations + new.num_relations))


def known_rows(model: Model, old: GraphSize) -> dict[str, Tensor]:
    """The rows that a grown model has from before, by the name of each table in its state."""
    entities = torch.arange(old.num_entities)
    relations = known_relation_rows(old, model.size)
    rows = {
        f"{name}.weight": relations if isinstance(table, RelationTable) else entities
        for name, table in model.named_modules()
        if isinstance(table, Table)
    }
    return rows if model.may_loop is None else rows | {"may_loop": relations}


def check_growth(model: Model) -> None:
    """Refuse a model whose known entities would not stay where they are."""
    if model.entity.computed:
        raise InputError(
            f"This run cannot be updated: an encoder computes the vectors of {model.name} from all "
            "facts, so a new one moves known entities, and an update keeps them in their place. "
            "Train on the changed graph anew, or update a run without an encoder, such as rotl's."
        )


@torch.no_grad()
def grow(old: Model, fresh: Model) -> None:
    """Fill ``fresh``, made for a graph with more entities or relations, with what ``old`` knows.

    Known rows go to their places; rows of new entities and relations stay as they were
    initialised, and all other parameters are taken over. Where a parameter has grown along
    another axis (TuckER's core, with its rank) the old one fills its corner, and known rows get
    zeros in the new columns, so that the scores of known triples are the same as before.
    """
    before = old.state_dict()
    places = known_rows(fresh, old.size)
    for name, target in fresh.state_dict().items():
        carry(before[name], target, places.get(name))


@torch.no_grad()
def carry(source: Tensor, target: Tensor, rows: Tensor | None = None) -> None:
    """Write ``source`` into a larger ``target``: its rows to those places, or into the corner.

    What else the rows have in ``target`` becomes zero.
    """
    source = source.to(target.device)
    if rows is not None:
        for part, some in zip(torch.split(source, CHUNK), torch.split(rows, CHUNK), strict=True):
            wide = target.new_zeros(len(part), *target.shape[1:])
            wide[:, : part.shape[1]] = part
            target[some.to(target.device)] = wide
    else:
        target[tuple(slice(length) for length in source.shape)] = source


def carry_moments(moments: Mapping[str, Tensor], model: Model, old: GraphSize) -> dict[str, Tensor]:
    """An optimiser's state ('parameter/field') for a grown model; new rows have none yet."""
    places, grown = known_rows(model, old), {}
    for name, parameter in model.named_parameters():
        for key, source in moments.items():
            if key.startswith(f"{name}/"):
                target = torch.zeros_like(parameter) if source.dim() else source.clone()
                carry(source, target, places.get(name) if source.dim() else None)
                grown[key] = target.detach()
    return grown
