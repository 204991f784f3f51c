"""Tests of what a runtime must survive: subclass `RuntimeConformance` in a test module, pytest does the rest. It
includes all tests of an adapter alone (`lifeboat_adapters.testing`)."""

from __future__ import annotations

from lifeboat_core.testing.runtime_conformance import RuntimeConformance

__all__ = ["RuntimeConformance"]
