"""Longer traces of the model of sealed remotes with real machines, and deliberate faults that the replay finds.

`LIFEBOAT_MODEL_STEPS` sets the longest trace: 12 takes hours.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from lifeboat_core.remotes.sealed import log_heads
from lifeboat_core.remotes.sealed.folder_files import FolderFiles
from support.model.sealed_protocol import Limits
from support.model.two_machines import replay_traces

STEPS = int(os.environ.get("LIFEBOAT_MODEL_STEPS", "5"))


@pytest.mark.parametrize(
    "limits",
    [
        Limits(captures=1, crashes=1, lost_answers=0, adoptions=1),
        Limits(captures=1, crashes=0, lost_answers=0, adoptions=0, compactions=1, days=1),
    ],
    ids=["push, take over, crash", "compact and sleep"],
)
def test_machines_do_what_the_model_does(tmp_path: Path, limits: Limits) -> None:
    count, wrong = replay_traces(tmp_path, limits, STEPS)
    print(f"{count} traces of up to {STEPS} steps")
    assert not wrong, wrong


def test_a_head_that_is_replaced_without_the_compare_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compared = FolderFiles.set_head

    def blindly(self: FolderFiles, agent_id: str, data: bytes, expected: str | None) -> str:
        found = self.head(agent_id)
        return compared(self, agent_id, data, None if found is None else found[1])

    monkeypatch.setattr(FolderFiles, "set_head", blindly)
    count, wrong = replay_traces(tmp_path, Limits(captures=1, crashes=0, lost_answers=0, adoptions=1), 7)
    print(f"found in trace {count}")
    assert wrong


def test_a_head_that_is_replaced_after_a_day_asleep_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    never: Any = float("inf")
    monkeypatch.setattr(log_heads, "LONGEST_CHANGE", never)
    limits = Limits(captures=1, crashes=0, lost_answers=0, adoptions=0, compactions=1, days=1)
    count, wrong = replay_traces(tmp_path, limits, 4)
    print(f"found in trace {count}")
    assert wrong
