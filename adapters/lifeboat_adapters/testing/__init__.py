"""What any adapter must do, as tests: subclass `AdapterConformance` in a test module, pytest does the rest."""

from __future__ import annotations

from lifeboat_adapters.testing.conformance import AdapterConformance
from lifeboat_adapters.testing.looking import Made, tree_of

__all__ = ["AdapterConformance", "Made", "tree_of"]
