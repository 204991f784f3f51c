"""AIMEM bundles: the format, and the adapter of folders that hold them."""

from __future__ import annotations

from lifeboat_formats.aimem.adapter import ADAPTER
from lifeboat_formats.aimem.aimem_format import FORMAT

__all__ = ["ADAPTER", "FORMAT"]
