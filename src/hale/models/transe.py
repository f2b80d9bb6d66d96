"""TransE."""

from __future__ import annotations

from torch import Tensor

from hale.models.shifted import Shifted


class TransE(Shifted):
    """Shift the head by the relation.

    q = e_h + r                      (HaLE, section 3.3; Bordes et al. 2013)

    Scores by the squared L2 distance, as the paper does for all five models;
    the original takes the distance itself.
    """

    name = "transe"
    formula = "q = e_h + r"
    source = "Bordes et al., NeurIPS 2013"
    cost = "d"
    relation_vector = "shift"

    def turned(self, vectors: Tensor, relation: Tensor) -> Tensor:  # noqa: ARG002
        """The head as it is."""
        return vectors
