"""Whatever happens to several machines, an endpoint and a folder, in any order, for long."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, settings
from replication_life import Life

pytestmark = [pytest.mark.soak, pytest.mark.timeout(3600)]

TestLife = Life.TestCase
TestLife.settings = settings(
    max_examples=60, stateful_step_count=25, deadline=None, suppress_health_check=list(HealthCheck)
)
