"""AttH."""

from __future__ import annotations

from hale.models.atte import AttE
from hale.models.hyperbolic import Hyperbolic


class AttH(Hyperbolic, AttE):
    """Rotate and reflect the head, weigh the two by attention, then shift it, on the ball.

    q = exp_0((w Rot(r) v_h + (1 - w) Ref(r) v_h)) (+)_c exp_0(r')      (Chami et al. 2020)

    w as in AttE, taken in the tangent space. Needs an even dim.
    """

    name = "atth"
    formula = "q = exp_0((w Rot(r) v_h + (1 - w) Ref(r) v_h)) (+)_c exp_0(r')"
    source = "Chami et al., ACL 2020"
    cost = "17d"
