"""Making a bundle of a state."""

from __future__ import annotations

from lifeboat_adapters.aimem.options import ProducerOptions

__all__ = ["ProducerOptions"]
