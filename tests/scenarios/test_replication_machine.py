"""Whatever happens to several machines, an endpoint and a folder, in any order; for long in the soak tests."""

from __future__ import annotations

from hypothesis import HealthCheck, Phase, settings
from replication_life import Life

TestLife = Life.TestCase
# What fails is told at once: looking for a shorter story takes minutes, which the soak tests have.
TestLife.settings = settings(
    max_examples=2,
    stateful_step_count=8,
    deadline=None,
    derandomize=True,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)
