"""kill -9 of daemon and worker, again and again, at every step and at any moment, while an agent never rests."""

from __future__ import annotations

import random
import time
from collections import Counter
from pathlib import Path

import pytest

from lifeboat_alf.seams.crash_points import CrashPoint
from lifeboat_cli.demo.tree_comparison import read_tree
from support.core.harbour import Harbour, harbour
from support.core.invariants import always
from support.core.writing import RestlessWriter
from support.daemon.serving import Daemon, serving
from support.killing import KILLED
from support.waiting import until

DAEMON = [step for step in CrashPoint if step.name.startswith("DAEMON_") and step is not CrashPoint.DAEMON_STOPPING]
WORKER = [step for step in CrashPoint if step.name.startswith(("WORKER_", "CAPTURE_"))]
ROUNDS = 50
"""In each batch; there are four."""
ANY_MOMENT = 3.0
"""Seconds after its start within which a round that is killed at no step is killed."""
STEP_WITHIN = 8.0
"""Seconds that a round waits for its step. Not every step is reached in every round."""


@pytest.mark.parametrize("batch", range(4))
def test_whenever_daemon_or_worker_are_killed_everything_holds(tmp_path: Path, batch: int) -> None:
    ada = harbour(tmp_path)
    chance = random.Random(batch)
    ends: Counter[str] = Counter()
    with RestlessWriter(ada.workspace, seed=batch) as writer:
        for number in range(ROUNDS):
            ends[one_round(ada, chance, batch + 4 * number)] += 1
            still_whole(ada)
            if number % 10 == 9:
                with writer.resting():
                    always(ada.context, ada.agent)
    catch_up(ada)
    always(ada.context, ada.agent, ada.trees)
    print(f"batch {batch}: {dict(ends)}, {writer.edits} edits, sequence {ada.head}")
    assert writer.edits > 20 * ROUNDS
    assert ends["daemon at its step"] > ROUNDS / 6 and ends["worker at its step"] > ROUNDS / 6


def one_round(ada: Harbour, chance: random.Random, number: int) -> str:
    """Begin, and end as by a power cut: at a step of the daemon, at one of the worker, or at any moment; which."""
    nth = chance.choice((1, 1, 2))
    if number % 3 == 0:
        daemon = Daemon(ada.context, daemon_dies=(DAEMON[number // 3 % len(DAEMON)], nth))
    elif number % 3 == 1:
        daemon = Daemon(ada.context, worker_dies=(WORKER[number // 3 % len(WORKER)], nth))
    else:
        daemon = Daemon(ada.context)
    daemon.start(answering=False)
    try:
        return how_it_ended(ada, daemon, chance.uniform(0.2, ANY_MOMENT) if number % 3 == 2 else STEP_WITHIN)
    finally:
        daemon.kill()


def how_it_ended(ada: Harbour, daemon: Daemon, seconds: float) -> str:
    """Wait until the step is reached, or so many seconds."""
    assert daemon.process is not None
    log = ada.context.home.folder / "logs" / "daemon.log"
    begin = log.stat().st_size if log.exists() else 0
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if daemon.process.poll() is not None:
            assert daemon.process.returncode == KILLED
            return "daemon at its step"
        if log.exists() and b"worker_failed" in log.read_bytes()[begin:]:
            return "worker at its step"
        time.sleep(0.02)
    return "at any moment"


def still_whole(ada: Harbour) -> None:
    """What is cheap enough for every round: the vault opens, the newest state has its digest, the audit chain holds."""
    with ada.context.vault(ada.agent.id) as vault:
        assert vault.verify(trusted=None, whole=False).findings == []
        assert vault.check_audit() == []


def catch_up(ada: Harbour) -> None:
    """The writer rests: the next daemon takes what is there now, byte for byte."""
    with serving(ada.context) as daemon:
        until(daemon.is_settled, "the last look to end", seconds=60)
        until(lambda: daemon.agent()["state"] == "ok", "the agent to be ok", seconds=60)
    ada.trees[ada.head] = read_tree(ada.workspace)
