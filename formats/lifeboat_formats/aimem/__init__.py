"""AIMEM bundles: as a format, and a folder of them as a workspace."""

from __future__ import annotations

from lifeboat_formats.aimem.adapter import ADAPTER
from lifeboat_formats.aimem.aimem_format import FORMAT

__all__ = ["ADAPTER", "FORMAT"]
