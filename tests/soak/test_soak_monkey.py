"""A monkey presses keys for 2,000 steps and more: no traceback, ever."""

from __future__ import annotations

import asyncio
import random

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from support.tui import monkey

WITHOUT_SHRINKING = (Phase.explicit, Phase.reuse, Phase.generate)
"""A life takes seconds, and shrinking one would take hundreds of lives."""

pytestmark = pytest.mark.timeout(1800)


@settings(max_examples=20, phases=WITHOUT_SHRINKING)
@given(steps=st.lists(st.sampled_from(monkey.STEPS), min_size=100, max_size=100))
def test_two_thousand_steps_in_twenty_lives(steps: list[str]) -> None:
    assert asyncio.run(monkey.plays(steps)) == len(steps)


@pytest.mark.parametrize("seed", range(2))
def test_a_life_of_a_thousand_steps(seed: int) -> None:
    chance = random.Random(seed)
    steps = [chance.choice(monkey.STEPS) for _ in range(1000)]
    assert asyncio.run(monkey.plays(steps)) == 1000
