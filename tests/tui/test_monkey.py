"""Random keys never cause a traceback. `tests/soak/test_soak_monkey.py` presses 2,000."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from support.tui import monkey

WITHOUT_SHRINKING = (Phase.explicit, Phase.reuse, Phase.generate)
"""Phases without shrinking: one run takes seconds, and shrinking would need hundreds of runs."""


@pytest.mark.parametrize("readonly", [False, True], ids=["as usual", "readonly"])
@settings(max_examples=4, phases=WITHOUT_SHRINKING)
@given(steps=st.lists(st.sampled_from(monkey.STEPS), min_size=20, max_size=20))
def test_whatever_is_pressed_there_is_no_traceback(readonly: bool, steps: list[str]) -> None:
    assert asyncio.run(monkey.plays(steps, readonly=readonly)) == len(steps)
