"""Aicf."""

from __future__ import annotations

from lifeboat_adapters.aicf.adapter import ADAPTER
from lifeboat_adapters.aicf.format import FORMAT

__all__ = ["ADAPTER", "FORMAT"]
