"""Whatever happens to several machines, an endpoint and a folder, in any order; for long in the soak tests."""

from __future__ import annotations

from hypothesis import HealthCheck, settings
from replication_life import Life

TestLife = Life.TestCase
TestLife.settings = settings(
    max_examples=2, stateful_step_count=8, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck)
)
