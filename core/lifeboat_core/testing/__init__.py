"""What a runtime must survive as a whole, as tests: subclass `RuntimeConformance` in a test module, pytest does the
rest. It holds all tests of an adapter alone (`lifeboat_adapters.testing`), too."""

from __future__ import annotations

from lifeboat_core.testing.runtime_conformance import RuntimeConformance

__all__ = ["RuntimeConformance"]
