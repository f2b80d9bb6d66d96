"""DistilE: scores like those of a larger model."""

from __future__ import annotations

from torch import Tensor
from torch.nn import functional

from hale.objectives.taught import Taught


class DistilE(Taught):
    """The Huber difference of the scores of a triple by the model and by its teacher.

        l(f, g) = 1/2 (f - g)^2 where |f - g| <= 1, |f - g| - 1/2 beyond        (delta = 1)

    After Zhu et al., "DistilE" (arXiv 2009.05912), the score difference of its soft label loss;
    with several teachers g is their mean. Not here: the difference of the angle and the ratio of
    lengths of head and tail, which the authors' code computes and leaves out of its sum, and the
    second stage, in which the teacher learns from the student. The paper takes the triples of a
    batch and its negatives; here they are the teacher's best answers to a query, and the scores
    are in nats on both sides. Read in the authors' code, not in the paper's text.
    """

    name = "distile"
    formula = "any strategy's + w mean Huber(f, f_teacher)"
    source = "Zhu et al., arXiv 2009.05912"

    def difference(self, scores: Tensor, taught: Tensor, scales: Tensor) -> Tensor:  # noqa: ARG002
        """The mean over queries and candidates."""
        return functional.smooth_l1_loss(scores, taught.mean(dim=2))
