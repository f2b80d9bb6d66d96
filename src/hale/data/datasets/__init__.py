"""Named graphs: the bundled one, and verified downloads.

A name is looked up in the folders of ``HALE_DATA`` (separated like ``PATH``),
then among the bundled, then in the cache (``HALE_CACHE``, else
``~/.cache/hale``), and only then fetched from its public home. Naming a data
set that is nowhere on this machine is what asks for the network.
"""

from hale.data.datasets.cache import locate
from hale.data.datasets.catalog import CATALOG, Dataset
from hale.data.datasets.load import load

__all__ = ["CATALOG", "Dataset", "load", "locate"]
