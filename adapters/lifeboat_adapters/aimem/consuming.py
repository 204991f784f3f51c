"""Taking a bundle into memories that are here already: what is new, what is newer, what is refused (AIMEM §2.9, §5.4).

Pure: a plan says what would be written, whoever holds the memories writes it.
"""

from __future__ import annotations

from lifeboat_adapters.aimem.options import ConsumerOptions, Existing, ImportPlan, StoredChunk

__all__ = ["ConsumerOptions", "Existing", "ImportPlan", "StoredChunk"]
