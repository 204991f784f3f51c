"""Whatever happens to several machines, an endpoint and a folder, in any order, for long."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, Phase, settings

from support.core.replication_life import Life

pytestmark = pytest.mark.timeout(1200)

TestLife = Life.TestCase
# The same stories each time; what fails is told at once, because looking for a shorter one takes as long as everything.
TestLife.settings = settings(
    max_examples=12,
    stateful_step_count=20,
    deadline=None,
    derandomize=True,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)
