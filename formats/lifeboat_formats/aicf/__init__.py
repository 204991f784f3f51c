"""AICF files: the format, and the adapter of folders that hold them."""

from __future__ import annotations

from lifeboat_formats.aicf.adapter import ADAPTER
from lifeboat_formats.aicf.aicf_format import FORMAT

__all__ = ["ADAPTER", "FORMAT"]
