"""Commands for a long-running program: a real server, real processes, and the end of each of them."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import time
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest

from lifeboat_cli.command_server.command_child import refusal_reason_of
from lifeboat_cli.command_server.forking_server import AT_ONCE
from lifeboat_core.errors import BadRequest, Cancelled, CommandLost, UnexpectedError, UnknownAgent, WorkerFailed
from lifeboat_daemon.control import command_messages
from lifeboat_daemon.control.command_runner import FORKS, CommandProgress, CommandRunner
from support import preloaded
from support.cli import command_program
from support.patience import patience
from support.preloaded import script
from support.waiting import until_async

_FORKED = {command_program.COMMAND: script(command_program.__file__)}


@asynccontextmanager
async def commands(
    folder: Path, *options: str, forks: bool = FORKS, by_exec: bool = False
) -> AsyncIterator[CommandRunner]:
    around = {**os.environ, "LIFEBOAT_HOME": str(folder / "home"), "HOME": str(folder / "user")}
    made = CommandRunner(around, server=(*command_program.COMMAND, *options), forks=forks)
    with contextlib.nullcontext() if by_exec else preloaded.forking_of(_FORKED):
        try:
            yield made
        finally:
            await made.close()


def run(story: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(story, patience(120)))


def server_of(made: CommandRunner) -> psutil.Process:
    assert made._starting is not None
    return psutil.Process(made._starting.result().pid)


def is_gone(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def paused(folder: Path, name: str = "pause") -> Path:
    """Make a folder for the command `wait`."""
    place = folder / name
    place.mkdir()
    return place


# Output ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("forks", [True, False])
def test_a_command_answers_with_its_document(tmp_path: Path, forks: bool) -> None:
    async def story() -> None:
        async with commands(tmp_path, forks=forks) as made:
            said = await made.run("status")
            assert (said.status, said.document["verdict"]) == (0, "no agent is protected yet")

    run(story())


def test_a_word_behind_two_dashes_is_no_option(tmp_path: Path) -> None:
    async def story() -> None:
        async with commands(tmp_path) as made:
            with pytest.raises(UnknownAgent, match="--help"):
                await made.run("status", "--", "--help")

    run(story())


@pytest.mark.parametrize("forks", [True, False])
def test_too_much_input_is_refused_and_the_server_goes_on(tmp_path: Path, forks: bool) -> None:
    async def story() -> None:
        async with commands(tmp_path, forks=forks) as made:
            with pytest.raises(BadRequest, match="16 MiB"):
                await made.run("status", text="x" * command_messages.LONGEST_REQUEST)
            assert (await made.run("status")).status == 0

    run(story())


@pytest.mark.parametrize("forks", [True, False])
def test_what_a_command_fails_with_is_raised(tmp_path: Path, forks: bool) -> None:
    async def story() -> None:
        async with commands(tmp_path, forks=forks) as made:
            with pytest.raises(UnknownAgent, match="nobody"):
                await made.run("timeline", "nobody")

    run(story())


def test_wrong_usage_is_an_error_too(tmp_path: Path) -> None:
    async def story() -> None:
        async with commands(tmp_path) as made:
            with pytest.raises(Exception) as failed:
                await made.run("timeline")
            assert getattr(failed.value, "code", "") == "usage"

    run(story())


def test_without_json_there_is_its_text(tmp_path: Path) -> None:
    async def story() -> None:
        async with commands(tmp_path) as made:
            said = await made.run_text("status")
            assert "protected" in said.text and said.document == {}
            failed = await made.run_text("timeline", "nobody")
            assert failed.status == 1 and any("nobody" in note for note in failed.notes)

    run(story())


def test_warnings_come_beside_the_document(tmp_path: Path) -> None:
    async def story() -> None:
        (pause := paused(tmp_path)).joinpath("go").touch()
        async with commands(tmp_path) as made:
            said = await made.run("wait", str(pause))
            assert said.document == {"waited": True} and said.notes == ("warning: this took long",)

    run(story())


def test_what_a_library_prints_is_no_answer(tmp_path: Path) -> None:
    async def story() -> None:
        async with commands(tmp_path) as made:
            with pytest.raises(WorkerFailed, match="its output is not JSON"):
                await made.run("babble")
            assert (await made.run_text("babble")).text == "no document\n"

    run(story())


def test_an_answer_that_is_too_large_is_said_to_be(tmp_path: Path) -> None:
    async def story() -> None:
        async with commands(tmp_path) as made:
            with pytest.raises(UnexpectedError, match="the limit is 64 MiB"):
                await made.run("large", str(command_messages.MOST_SAID))
            said = await made.run("large", str(3 * 1024 * 1024))
            assert len(said.document["text"]) == 3 * 1024 * 1024

    run(story())


# Input -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("forks", [True, False])
def test_a_command_has_its_input_and_nothing_of_a_terminal(tmp_path: Path, forks: bool) -> None:
    async def story() -> None:
        async with commands(tmp_path, forks=forks, by_exec=True) as made:
            document = (await made.run("about", "one", text="a secret\n")).document
            assert (document["words"], document["text"]) == (["one"], "a secret\n")
            assert document["terminal"] is False and document["leads"] is True
            assert "a secret" not in document["arguments"] + str(document["environment"])

    run(story())


def test_a_command_has_nothing_of_the_server_open(tmp_path: Path) -> None:
    async def story() -> None:
        async with commands(tmp_path, by_exec=True) as made:
            pause = paused(tmp_path)
            other = asyncio.create_task(made.run("wait", str(pause)))
            await until_async((pause / "begun").exists)
            document = (await made.run("about")).document
            looking = 4  # The descriptor that lists the folder.
            assert [each for each in document["descriptors"] if each != looking] == [0, 1, 2, 3]
            # 3 is the descriptor with which ls lists the folder.
            assert set(document["inherited"]) <= {"0", "1", "2", "3"}
            (pause / "go").touch()
            await other

    run(story())


def test_it_is_the_environment_of_the_client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("HARBOUR", "north")

    async def story() -> None:
        async with commands(tmp_path, by_exec=True) as made:
            monkeypatch.setenv("HARBOUR", "south")
            environment = (await made.run("about")).document["environment"]
            assert environment["HARBOUR"] == "north" and "FORCE_COLOR" not in environment

    run(story())


@pytest.mark.parametrize(
    "words",
    [
        ("tui",),
        ("demo", "--keep", "x"),
        ("completion", "bash"),
        ("daemon", "run"),
        ("endpoint", "serve"),
        ("status", "--watch"),
        ("log", "--follow"),
        ("daemon", "logs", "--follow"),
        ("--json", "tui"),
    ],
)
def test_what_never_ends_is_refused(words: tuple[str, ...]) -> None:
    assert refusal_reason_of(words) is not None


@pytest.mark.parametrize("words", [("setup", "--json"), ("daemon", "start"), ("search", "A", "--", "--watch"), ()])
def test_what_ends_is_not_refused(words: tuple[str, ...]) -> None:
    assert refusal_reason_of(words) is None


def test_a_refused_command_says_why(tmp_path: Path) -> None:
    async def story() -> None:
        async with commands(tmp_path) as made:
            with pytest.raises(BadRequest, match="terminal"):
                await made.run("daemon", "run")
            with pytest.raises(BadRequest, match="asks questions"):
                await made.run_text("setup")

    run(story())


# Progress ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("forks", [True, False])
def test_it_is_told_how_far_a_command_is(tmp_path: Path, forks: bool) -> None:
    heard: list[CommandProgress] = []

    async def story() -> None:
        async with commands(tmp_path, forks=forks) as made:
            await made.run("count", "200000", tell=heard.append)

    began = time.monotonic()
    run(story())
    assert (heard[0].text, heard[0].done) == ("Counting", 0)
    assert (heard[-1].done, heard[-1].total, heard[-1].seconds_left) == (200000, 200000, 0)
    assert heard[-1].rate is not None
    assert len(heard) <= 5 * (time.monotonic() - began) + 2


# Many at once ------------------------------------------------------------------------------------------------------


def test_many_run_at_once_and_the_rest_waits(tmp_path: Path) -> None:
    async def story() -> None:
        async with commands(tmp_path) as made:
            places = [paused(tmp_path, str(number)) for number in range(AT_ONCE + 2)]
            tasks = [asyncio.create_task(made.run("wait", str(place))) for place in places]
            await until_async(lambda: sum((place / "begun").exists() for place in places) == AT_ONCE)
            assert len(server_of(made).children()) == AT_ONCE
            for place in places:
                (place / "go").touch()
            assert all([(await task).document["waited"] for task in tasks])
            await until_async(lambda: not server_of(made).children())

    run(story())


def test_one_that_waits_is_stopped_before_it_begins(tmp_path: Path) -> None:
    async def story() -> None:
        async with commands(tmp_path) as made:
            places = [paused(tmp_path, str(number)) for number in range(AT_ONCE)]
            tasks = [asyncio.create_task(made.run("wait", str(place))) for place in places]
            await until_async(lambda: all((place / "begun").exists() for place in places))
            late = paused(tmp_path, "late")
            waiting = asyncio.create_task(made.run("wait", str(late)))
            await asyncio.sleep(0)
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
            for place in places:
                (place / "go").touch()
            await asyncio.gather(*tasks)
            assert not (late / "begun").exists()

    run(story())


# Stopping ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("forks", [True, False])
def test_cancelling_stops_the_command_and_waits_for_that(tmp_path: Path, forks: bool) -> None:
    async def story() -> None:
        async with commands(tmp_path, forks=forks) as made:
            pause = paused(tmp_path)
            task = asyncio.create_task(made.run("wait", str(pause)))
            await until_async((pause / "begun").exists)
            await until_async(lambda: (pause / "pid").read_text())
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await until_async(lambda: is_gone(int((pause / "pid").read_text())))
            assert not (pause / "done").exists()

    run(story())


def test_a_command_that_somebody_else_interrupted_was_stopped(tmp_path: Path) -> None:
    async def story() -> None:
        async with commands(tmp_path) as made:
            pause = paused(tmp_path)
            task = asyncio.create_task(made.run("wait", str(pause)))
            await until_async((pause / "begun").exists)
            os.kill(int((pause / "pid").read_text()), signal.SIGINT)
            with pytest.raises(Cancelled):
                await task

    run(story())


# Ended processes ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("forks", [True, False])
def test_a_command_that_is_killed_is_an_error_that_says_how(tmp_path: Path, forks: bool) -> None:
    async def story() -> None:
        async with commands(tmp_path, forks=forks) as made:
            with pytest.raises(WorkerFailed, match="the command was ended by SIGKILL"):
                await made.run("die")
            assert (await made.run("status")).status == 0

    run(story())


def test_a_server_that_is_killed_takes_no_command_with_it_and_is_started_anew(tmp_path: Path) -> None:
    async def story() -> None:
        async with commands(tmp_path) as made:
            pause = paused(tmp_path)
            task = asyncio.create_task(made.run("wait", str(pause)))
            await until_async((pause / "begun").exists)
            first = server_of(made)
            first.kill()
            with pytest.raises(CommandLost, match="SIGKILL") as lost:
                await task
            assert lost.value.retryable
            assert (await made.run("status")).status == 0
            assert server_of(made).pid != first.pid
            (pause / "go").touch()
            await until_async((pause / "done").exists)

    run(story())


def test_closing_is_quick_and_sees_through_what_is_at_work(tmp_path: Path) -> None:
    async def story() -> None:
        pause = paused(tmp_path)
        async with commands(tmp_path) as made:
            task = asyncio.create_task(made.run("wait", str(pause)))
            await until_async((pause / "begun").exists)
            await made.close()
            assert not (pause / "done").exists(), "closing waited for the command"
            with pytest.raises(CommandLost):
                await task
        (pause / "go").touch()
        await until_async((pause / "done").exists)

    run(story())


def test_a_server_ends_with_its_program_and_leaves_nothing(tmp_path: Path) -> None:
    async def story() -> None:
        async with commands(tmp_path) as made:
            await made.run("status")
            server = server_of(made)
        await until_async(lambda: is_gone(server.pid))

    run(story())


def test_what_a_command_started_holds_nothing_up(tmp_path: Path) -> None:
    async def story() -> None:
        async with commands(tmp_path) as made:
            pid = (await made.run("leave")).document["pid"]
            try:
                await until_async(lambda: not server_of(made).children())
                assert psutil.pid_exists(pid)
            finally:
                os.kill(pid, signal.SIGKILL)

    run(story())


def test_a_server_that_cannot_start_says_why(tmp_path: Path) -> None:
    async def story() -> None:
        async with commands(tmp_path, "--broken") as made:
            await made.warm()
            with pytest.raises(WorkerFailed, match="No module named 'lost'"):
                await made.run("status")

    run(story())


def test_a_program_that_cannot_be_started_is_an_error(tmp_path: Path) -> None:
    async def story() -> None:
        made = CommandRunner({}, server=(str(tmp_path / "nothing"),))
        await made.warm()
        with pytest.raises(WorkerFailed, match="cannot run commands"):
            await made.run("status")
        await made.close()

    run(story())


def test_it_works_in_one_loop_after_another(tmp_path: Path) -> None:
    made = CommandRunner({**os.environ, "LIFEBOAT_HOME": str(tmp_path / "home")}, server=command_program.COMMAND)

    async def story() -> None:
        assert (await made.run("status")).status == 0
        await made.close()

    run(story())
    run(story())


def test_nothing_is_started_before_it_is_needed(tmp_path: Path) -> None:
    async def story() -> None:
        async with commands(tmp_path) as made:
            assert made._starting is None
            await made.warm()
            await made.warm()
            assert made._starting is not None
            assert (await made.run("status")).status == 0

    run(story())
