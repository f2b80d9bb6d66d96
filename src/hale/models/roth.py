"""RotH."""

from __future__ import annotations

from hale.models.hyperbolic import Hyperbolic
from hale.models.rote import RotE


class RotH(Hyperbolic, RotE):
    """Rotate the head, then shift it, on the Poincare ball.

    q = exp_0(Rot(r) v_h) (+)_c exp_0(r')      (Chami et al. 2020)

    Needs an even dim.
    """

    name = "roth"
    formula = "q = exp_0(Rot(r) v_h) (+)_c exp_0(r')"
    source = "Chami et al., ACL 2020"
    cost = "12d"
