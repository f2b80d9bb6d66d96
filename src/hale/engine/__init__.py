"""Engine: the uniformity term, its value and its gradients, behind one function.

uniformity   the contract, differentiable in queries, entities and scale
tiles        plain torch calls on tiles of entities, any device: the reference
"""

from hale.engine.uniformity import uniformity

__all__ = ["uniformity"]
