"""Engine: the uniformity term, its value and its gradients, behind one function.

uniformity   the contract, differentiable in queries, entities and scale
tiles        plain torch calls on tiles of entities, any device: the reference
native       the same in C++, for float32 on the CPU
choice       which of the two runs, and why
"""

from hale.engine.choice import Engine, current
from hale.engine.uniformity import uniformity

__all__ = ["Engine", "current", "uniformity"]
