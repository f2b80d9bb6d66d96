"""MuRP."""

from __future__ import annotations

from hale.models.hyperbolic import Hyperbolic
from hale.models.mure import MuRE


class MuRP(Hyperbolic, MuRE):
    """Stretch the head in the tangent space, then shift it, on the Poincare ball.

    q = exp_0((R_r * v_h)) (+)_c exp_0(r')      (Balazevic et al. 2019)

    A departure from the original, which shifts the tail, d(q, e_t (+) r), at a curvature of one:
    here the query is shifted, as in RotH, so that one query meets all entities, and the curvature
    is trained.
    """

    name = "murp"
    formula = "q = exp_0((R_r * v_h)) (+)_c exp_0(r')"
    source = "Balazevic et al., NeurIPS 2019"
    cost = "11d"
