"""Aionforge Memory: the format of running instances, and the adapter of its data folder."""

from __future__ import annotations

from lifeboat_formats.aionforge.adapter import ADAPTER
from lifeboat_formats.aionforge.aionforge_format import FORMAT

__all__ = ["ADAPTER", "FORMAT"]
