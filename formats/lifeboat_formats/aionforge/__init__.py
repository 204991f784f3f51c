"""Aionforge."""

from __future__ import annotations

from lifeboat_adapters.aionforge.adapter import ADAPTER
from lifeboat_adapters.aionforge.format import FORMAT

__all__ = ["ADAPTER", "FORMAT"]
