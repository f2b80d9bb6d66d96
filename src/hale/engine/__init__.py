"""Engine: sums over all entities, their value and their gradients, behind three functions.

contrast     the HaLE loss: alignment of positives, uniformity of the queries drawn
uniformity   the uniformity term alone, for squared L2 distances
partition    the same sum for any score, in chunks of queries
tiles        uniformity by plain torch calls on tiles of entities, any device: the reference
native       the same in C++, for float32 on the CPU
choice       which of the two sweeps
library      the C++ library: which build runs, and why
structures   what its functions take
"""

from hale.engine.contrast import Contrast, contrast
from hale.engine.library import Engine, current
from hale.engine.log_sum import mean_log_sum
from hale.engine.uniformity import uniformity

__all__ = ["Contrast", "Engine", "contrast", "current", "mean_log_sum", "uniformity"]
