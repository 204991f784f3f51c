"""Conformance tests for adapters: subclass `AdapterConformance` in a test module, and pytest runs them."""

from __future__ import annotations

from lifeboat_adapters.testing.adapter_conformance import AdapterConformance
from lifeboat_adapters.testing.sample_installation import SampleInstallation, tree_of

__all__ = ["AdapterConformance", "SampleInstallation", "tree_of"]
