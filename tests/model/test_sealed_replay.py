"""Traces of the model of sealed remotes, replayed with real machines and a real folder."""

from __future__ import annotations

from pathlib import Path

from support.model.sealed_protocol import Limits
from support.model.two_machines import replay_traces

STEPS = 3
"""The longest traces here; `tests/soak/test_soak_model.py` replays longer ones."""


def test_two_machines_do_what_the_model_does(tmp_path: Path) -> None:
    count, wrong = replay_traces(tmp_path, Limits(captures=1, crashes=1, lost_answers=0, adoptions=1), STEPS)
    print(f"{count} traces of up to {STEPS} steps")
    assert not wrong, wrong


def test_machines_that_sleep_for_a_day_do_what_the_model_does(tmp_path: Path) -> None:
    limits = Limits(captures=1, crashes=0, lost_answers=0, adoptions=0, compactions=1, days=1)
    count, wrong = replay_traces(tmp_path, limits, STEPS)
    print(f"{count} traces of up to {STEPS} steps")
    assert not wrong, wrong
