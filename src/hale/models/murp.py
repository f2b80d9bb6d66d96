"""MuRP."""

from __future__ import annotations

from hale.models.hyperbolic import Hyperbolic
from hale.models.mure import MuRE


class MuRP(Hyperbolic, MuRE):
    """Stretch the head in the tangent space, then shift it, on the Poincare ball.

    q = exp_0((R_r * v_h)) (+)_c exp_0(r')      (Balazevic et al. 2019)

    The original shifts the tail, d(q, e_t (+) r). Here the shift stands on the query's side, so
    that one query meets all entities: left translation keeps distances, d(x (+) q, x (+) y) =
    d(q, y), and every relation has its reciprocal. The original's curvature is fixed at one.
    """

    name = "murp"
    formula = "q = exp_0((R_r * v_h)) (+)_c exp_0(r')"
    source = "Balazevic et al., NeurIPS 2019"
    cost = "11d"
