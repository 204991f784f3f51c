"""Purges of sealed logs, killed everywhere and over and over: nothing comes back, and nothing else is lost."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lifeboat_alf.seams.crash_points import CrashPoint
from lifeboat_alf.testing.sample_states import AGENT_ID
from lifeboat_core.remotes.sealed import log_compaction, log_contents
from lifeboat_core.remotes.vault_bundles import VaultBundleSource
from support.core.sealed_logs import CONTENT, SOUL, Machine
from support.core.sealed_purges import CUT, NOTE, capture, cut, expect_whole, leaks, purge_here, remember, thin
from support.killing import killed_at

SEALED_STEPS = (
    CrashPoint.SEALED_FILE_WRITTEN,
    CrashPoint.SEALED_REWRITTEN,
    CrashPoint.SEALED_HEAD_REPLACED,
    CrashPoint.SEALED_SWEPT,
)
STORIES = int(os.environ.get("LIFEBOAT_SOAK_STORIES", "12"))


def every_kill(work: Callable[[], Any], begin: Callable[[], None], check: Callable[[], None]) -> int:
    """`work`, killed at every one of its steps; `begin` before each, `check` after it; how many kills."""
    kills = 0
    for step in SEALED_STEPS:
        nth = 1
        while True:
            begin()
            was_killed = killed_at(work, step, nth)
            check()
            if not was_killed:
                break
            kills, nth = kills + 1, nth + 1
    return kills


@pytest.mark.parametrize("sealed", [True, False], ids=["sealed", "plain"])
@pytest.mark.parametrize("thinned", [[], [2, 4]], ids=["all_here", "some_only_there"])
def test_killed_at_every_step(tmp_path: Path, sealed: bool, thinned: list[int]) -> None:
    tries: list[Machine] = []
    redactions = []

    def begin() -> None:
        folder = tmp_path / str(len(tries))
        tries.append(Machine(folder / "laptop", folder / "stick", sealed=sealed))
        remember(tries[-1])
        redactions.append(cut(tries[-1]))
        thin(tries[-1], thinned)
        purge_here(tries[-1], redactions[-1])

    def check() -> None:
        machine, redaction = tries[-1], redactions[-1]
        if not machine.log().redactions(AGENT_ID):
            machine.log().redact(AGENT_ID, redaction.to_json())
        assert leaks(machine) == []
        receipt = machine.log().redact(AGENT_ID, redaction.to_json()).receipt
        assert receipt is not None and receipt["found"] == {"files": receipt["found"]["files"], "read": 6, "hits": 0}
        if not thinned:
            expect_whole(machine, [0, 1, 2, 3, 4, 5])

    kills = every_kill(lambda: tries[-1].log().redact(AGENT_ID, redactions[-1].to_json()), begin, check)
    assert kills >= 8


@pytest.mark.parametrize("seed", range(STORIES))
def test_a_long_story_of_writing_and_purging_that_is_cut_off_all_the_time(
    tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One machine captures, pushes, purges and keeps its log small; most of it is killed somewhere. Once everything was
    asked once more, nothing of what was purged is there, and every state restores."""
    chance = random.Random(seed)
    monkeypatch.setattr(log_compaction, "MANY", 5)
    monkeypatch.setattr(log_compaction, "_SHARE", 1000)
    monkeypatch.setattr(log_contents, "SEGMENT", 3)
    machine = Machine(tmp_path / "laptop", tmp_path / "stick", sealed=bool(seed % 2))
    remember(machine)
    asked: list[dict[str, Any]] = []

    def push() -> None:
        log = machine.log()
        for document in asked:
            log.redact(AGENT_ID, document)
        machine.push(log)

    def keep_small() -> None:
        with machine.vault() as vault:
            machine.log().compact(AGENT_ID, VaultBundleSource(vault, None))

    for turn in range(14):
        body = CUT if chance.random() < 0.4 else b""
        capture(machine, {NOTE: body + b"%d more\n" % turn * chance.randrange(1, 40), SOUL: CONTENT + b"%d" % turn})
        if chance.random() < 0.3:
            redaction = cut(machine)
            purge_here(machine, redaction)
            asked.append(redaction.to_json())
        work = (
            chance.choice((push, push, keep_small)) if len(asked) == len(machine.log().redactions(AGENT_ID)) else push
        )
        killed_at(work, chance.choice(SEALED_STEPS), chance.randrange(1, 6))
    redaction = cut(machine)
    purge_here(machine, redaction)
    asked.append(redaction.to_json())
    push()
    assert leaks(machine) == []
    with machine.vault() as vault:
        here = {row.number for row in vault.sequences()}
    there = [each.number for each in machine.log().sequences(AGENT_ID)]
    assert set(there) <= here and there[-1] == max(here)
    expect_whole(machine, there)
