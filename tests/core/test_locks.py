"""Who waits for whom: a person's command for what the service does by itself, and nobody for another command."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from lifeboat_core.agents import locks
from lifeboat_core.agents.locks import LockPatience, agent_lock
from lifeboat_core.errors import Busy
from lifeboat_core.home.context import Context
from support import preloaded
from support.patience import patience
from support.preloaded import inline

ADA = "018f0000-0000-7000-8000-000000000001"


@pytest.fixture
def context(tmp_path: Path) -> Context:
    return Context.open({"LIFEBOAT_HOME": str(tmp_path / "home"), "HOME": str(tmp_path)})


@contextmanager
def another_holds(context: Context, purpose: str) -> Iterator[threading.Event]:
    """Somebody else has the lock until the event is set, or the block ends."""
    held, enough = threading.Event(), threading.Event()

    def hold() -> None:
        with agent_lock(context, ADA, purpose):
            held.set()
            enough.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    try:
        assert held.wait(patience())
        yield enough
    finally:
        enough.set()
        thread.join()


@pytest.mark.parametrize("purpose", sorted(locks.UNASKED))
def test_a_command_waits_for_what_the_service_does_by_itself(context: Context, purpose: str) -> None:
    with another_holds(context, purpose) as enough:
        told: list[str] = []

        def tell(sentence: str) -> None:
            told.append(sentence)
            enough.set()  # only who was told that it waits gets the lock

        patient = replace(context, patience=LockPatience(tell, said_after=0.0))
        with agent_lock(patient, ADA, "restore"):
            assert len(told) == 1 and f"({purpose})" in told[0]


def test_a_command_waits_some_seconds_for_another_command(context: Context) -> None:
    with another_holds(context, "compare") as enough:
        told: list[str] = []

        def tell(sentence: str) -> None:
            told.append(sentence)
            enough.set()

        with agent_lock(replace(context, patience=LockPatience(tell, said_after=0.0)), ADA, "capture"):
            assert told == [f"Waiting for process {os.getpid()} (compare) to finish..."]


def test_the_patience_with_another_command_is_shorter_and_its_error_names_the_holder(context: Context) -> None:
    told: list[str] = []
    patient = replace(context, patience=LockPatience(told.append, seconds=3600.0, command_seconds=0.5, said_after=0.0))
    with (
        another_holds(context, "restore"),
        pytest.raises(Busy, match=rf"process {os.getpid()} \(restore\) holds the lock that this command needs"),
        agent_lock(patient, ADA, "undo"),
    ):
        pass
    assert len(told) == 1


def test_patience_ends(context: Context) -> None:
    told: list[str] = []
    patient = replace(context, patience=LockPatience(told.append, seconds=0.5, said_after=0.0))
    with another_holds(context, "capture"), pytest.raises(Busy, match="capture"), agent_lock(patient, ADA, "undo"):
        pass
    assert len(told) == 1


def test_who_has_no_patience_does_not_wait(context: Context) -> None:
    with another_holds(context, "capture"), pytest.raises(Busy, match="capture"), agent_lock(context, ADA, "capture"):
        pass


def test_a_note_that_cannot_be_read_names_no_process(context: Context) -> None:
    patient = replace(context, patience=LockPatience(lambda _: None, seconds=3600.0, command_seconds=0.5))
    with another_holds(context, "capture"):
        (context.home.locks_folder / f"{ADA}.json").write_text("[]")
        with pytest.raises(Busy, match="another process"), agent_lock(patient, ADA, "undo"):
            pass


def test_who_holds_a_lock_is_said_while_it_hangs_and_whoever_is_killed_holds_none(context: Context) -> None:
    program = (
        "import os, signal; from lifeboat_core.home.context import Context\n"
        "from lifeboat_core.agents.locks import agent_lock\n"
        f"with agent_lock(Context.open(), {ADA!r}, 'capture'): os.kill(os.getpid(), signal.SIGSTOP)"
    )
    holder = preloaded.Popen(inline(program), env={**os.environ, **context.environment})
    try:
        _, status = os.waitpid(holder.pid, os.WUNTRACED)
        assert os.WIFSTOPPED(status)
        patient = replace(context, patience=LockPatience(lambda _: None, seconds=0.5))
        with pytest.raises(Busy, match=f"process {holder.pid} .capture. holds"), agent_lock(patient, ADA, "restore"):
            pass
        holder.kill()
        holder.wait()
        with agent_lock(context, ADA, "restore"):
            pass
    finally:
        holder.kill()
        holder.wait()
