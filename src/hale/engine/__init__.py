"""Engine: sums over all entities, their value and their gradients, behind two functions.

uniformity   the uniformity term, for squared L2 distances
partition    the same sum for any score, in chunks of queries
tiles        uniformity by plain torch calls on tiles of entities, any device: the reference
native       the same in C++, for float32 on the CPU
choice       which of the two runs, and why
"""

from hale.engine.choice import Engine, current
from hale.engine.partition import mean_log_sum
from hale.engine.uniformity import uniformity

__all__ = ["Engine", "current", "mean_log_sum", "uniformity"]
