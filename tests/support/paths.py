"""Paths of the checkout and its tests. A process that a test starts finds `support` through `PYTHONPATH=TESTS`."""

from __future__ import annotations

from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
ROOT = TESTS.parent
"""The checkout."""
