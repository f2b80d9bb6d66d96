"""The revision of the ranking."""

from __future__ import annotations

# Raised by whoever changes how ranks are counted, or what the cardinality rule takes off: figures
# that were kept before are of other ranks.
RANKING_REVISION = 1
