"""Engine: numbers without a graph: sums over all entities and their gradients, fast and plain.

contrast      the HaLE loss: alignment of positives, uniformity of the queries drawn
uniformity    the uniformity term alone, for squared L2 distances
log_sum       the same sum for any score, in chunks of queries
tiles         uniformity by plain torch calls on tiles of entities, any device: the reference
native        the same in C++, for float32 on the CPU
choice        which of the two sweeps
library       the native library: which build runs, and why
structures    what its functions take, field by field
turns         query vectors of rotations
rows          rows of a table: looked up, and added to
activations   the hardness-aware functions of a distance
shapes        more of them, whose shape is free
geometry      rotations, flexible addition, lifted vectors
poincare      the Poincare ball
counting      how many entities score above a threshold, and the scores of some pairs
topk          the best of each row, also over spans of columns
device        where tensors live, and how many threads work on them
group         the processes that train one model together, and what travels between them
shards        the rows of a table cut into spans that processes own
exact         sums that are the same bits in whatever order, and wherever, they are added
randomness    what is drawn is a function of seed, stream and counter
"""

from hale.engine.contrast import Contrast, contrast
from hale.engine.library import Engine, current
from hale.engine.log_sum import mean_log_sum
from hale.engine.uniformity import uniformity

__all__ = ["Contrast", "Engine", "contrast", "current", "mean_log_sum", "uniformity"]
