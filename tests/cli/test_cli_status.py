"""`lifeboat status` with and without a daemon, once and with --watch."""

from __future__ import annotations

import io
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_cli import program
from lifeboat_cli.status import status_text, status_watch
from lifeboat_cli.status.status_view import view_status
from lifeboat_cli.terminal.command_session import CommandSession
from lifeboat_cli.terminal.output import CommandOutput
from lifeboat_core.agents import agent as agents
from lifeboat_core.health import agent_status
from lifeboat_core.health.agent_status import KeyFacts, StatusFacts
from lifeboat_core.health.status_gathering import gather_status
from support import preloaded
from support.cli import cli_client
from support.core.protected import Protected
from support.daemon.control_servers import Served
from support.patience import patience
from support.waiting import until


@pytest.fixture
def ada(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Protected:
    made = Protected(tmp_path)
    made.clock.moment = datetime.now(UTC)  # Commands use the clock of the system.
    made.add(name="ada")
    for name in ("LIFEBOAT_HOME", "HOME"):
        monkeypatch.setenv(name, made.context.environment[name])
    return made


class Daemon:
    """A daemon's answer about an agent that was captured a while ago."""

    def __init__(self, ada: Protected, told: Callable[[agent_status.AgentStatus], agent_status.AgentStatus]) -> None:
        plain = agent_status.judge_agent(
            StatusFacts(sequence=0), ada.agent, KeyFacts(), ada.clock.now(), agent_status.AwakeTime()
        )
        self.status = agent_status.summarize_agents(
            [told(plain)], KeyFacts(), [], clock_trusted=True, now=ada.clock.now()
        )
        self.asked = 0

    async def answer(self, _: JsonObject) -> JsonObject:
        self.asked += 1
        about = {"running": True, "pid": 4711, "version": "0.1.0", "started_at": "2026-11-12T11:00:00.000Z"}
        return {**self.status.to_json(), "daemon": about, "offers": []}


@pytest.fixture
def served(ada: Protected) -> Iterator[Served]:
    daemon = Daemon(
        ada, lambda one: agent_status.mark_blocked(agent_status.mark_at_work(one), "waiting for process 7 (restore)")
    )
    with Served(ada.context, {"status": daemon.answer}) as made:
        yield made


def test_without_a_daemon_it_says_so_and_how_to_start_one(ada: Protected, capsys: pytest.CaptureFixture[str]) -> None:
    document = cli_client.run("status")
    assert document["daemon"]["running"] is False and document["daemon"]["pid"] is None
    assert program.run_command(["status"]) == 0
    assert "lifeboat daemon start" in capsys.readouterr().out


def test_with_a_daemon_its_pid_its_release_and_since_when(served: Served, capsys: pytest.CaptureFixture[str]) -> None:
    daemon = cli_client.run("status")["daemon"]
    assert (daemon["running"], daemon["pid"], daemon["version"]) == (True, 4711, "0.1.0")
    assert daemon["started_at"] == "2026-11-12T11:00:00.000Z"
    assert program.run_command(["status"]) == 0
    assert "daemon: running since" in capsys.readouterr().out


def test_a_command_adds_what_only_the_daemon_knows_to_what_is_so_now(ada: Protected, served: Served) -> None:
    ada.write("notes.md", "# New\n")
    ada.capture()
    for arguments in (["status"], ["status", "ada"]):
        (agent,) = cli_client.run(*arguments)["agents"]
        assert agent["sequence"] == 1, "the daemon told of sequence 0"
        assert (agent["state"], agent["at_work"]) == ("waiting", True)
        assert agent["reasons"][0] == agent["waits_for"] == "waiting for process 7 (restore)"


def test_a_daemon_that_answers_something_else_is_named_and_hides_nothing(
    ada: Protected, capsys: pytest.CaptureFixture[str]
) -> None:
    async def strange(_: JsonObject) -> JsonObject:
        return {"verdict": "strange"}

    with Served(ada.context, {"status": strange}):
        assert program.run_command(["status"]) == 0
    said = capsys.readouterr()
    assert "does not understand the daemon's answer" in said.err and "ada" in said.out


def test_check_fails_when_something_needs_the_user_and_only_then(ada: Protected) -> None:
    cli_client.run("status", "--check")
    ada.workspace.rename(ada.workspace.with_name("away"))
    document = cli_client.run("status", "--check", expect=1)
    assert document["agents"][0]["state"] == "error"
    cli_client.run("status")


@pytest.mark.parametrize("option", ["--check", "--json"])
def test_to_watch_is_for_people(ada: Protected, option: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert program.run_command(["status", "--watch", option]) == 2


# Watching -------------------------------------------------------------------------------------------------------


class Watching:
    """`status --watch` in a thread, until the end of the block. `lines` is its output so far."""

    def __init__(self, ada: Protected, *, terminal: bool = False, pause: float = 0.02) -> None:
        output = CommandOutput(as_json=False)
        self.out, self.err = io.StringIO(), io.StringIO()
        output.console = Console(file=self.out, force_terminal=terminal, width=100, height=40, soft_wrap=True)
        output.notes = Console(file=self.err, soft_wrap=True)
        self._session = CommandSession(ada.context, output)
        self._over = threading.Event()
        self._pause = pause
        self._thread = threading.Thread(target=self._run, daemon=True)

    def _run(self) -> None:
        status_watch.watch_status(self._session, None, pause=self._pause, is_over=self._over.is_set)

    @property
    def lines(self) -> list[str]:
        return self.out.getvalue().splitlines()

    def wait(self, condition: Callable[[], bool]) -> None:
        until(condition, lambda: f"{self.out.getvalue()}\n{self.err.getvalue()}")

    def __enter__(self) -> Watching:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()

    def ended(self) -> bool:
        self._thread.join(patience())
        return not self._thread.is_alive()


def test_without_a_daemon_it_looks_again_and_says_once_why(ada: Protected) -> None:
    with Watching(ada) as watching:
        watching.wait(lambda: len(watching.lines) == 1)
        ada.write("notes.md", "# New\n")
        ada.capture()
        watching.wait(lambda: len(watching.lines) > 1)
    assert watching.ended()
    assert "sequence 0" in watching.lines[0] and "sequence 1" in watching.lines[-1]
    assert watching.err.getvalue().count("is not running") == 1


def test_what_does_not_change_is_not_said_again(ada: Protected, monkeypatch: pytest.MonkeyPatch) -> None:
    looked = threading.Semaphore(0)
    look = status_watch.view_status

    def counted(session: CommandSession, name: str | None) -> Any:
        looked.release()
        return look(session, name)

    monkeypatch.setattr(status_watch, "view_status", counted)
    with Watching(ada) as watching:
        assert all(looked.acquire(timeout=patience()) for _ in range(5))
    assert watching.ended() and len(watching.lines) == 1


def test_an_event_of_the_daemon_brings_the_next_look(ada: Protected, served: Served) -> None:
    with Watching(ada, pause=1000.0) as watching:
        watching.wait(lambda: served.server.clients >= 1 and len(watching.lines) == 1)
        ada.write("notes.md", "# New\n")
        ada.capture()

        def told() -> bool:
            served.publish({"event": "agent"})
            return len(watching.lines) > 1

        watching.wait(told)
        assert "waiting" in watching.lines[-1] and "sequence 1" in watching.lines[-1]
        watching._over.set()
        served.publish({"event": "agent"})
        assert watching.ended()


def test_a_daemon_that_ends_is_not_missed(ada: Protected) -> None:
    daemon = Daemon(ada, lambda one: one)
    watching = Watching(ada)
    with Served(ada.context, {"status": daemon.answer}) as served:
        watching.__enter__()
        watching.wait(lambda: daemon.asked >= 2 and served.server.clients >= 1)
    watching.wait(lambda: "is not running" in watching.err.getvalue())
    watching.__exit__()
    assert watching.ended()


def test_on_a_terminal_the_page_is_drawn_anew_and_the_screen_given_back(ada: Protected) -> None:
    with Watching(ada, terminal=True) as watching:
        watching.wait(lambda: "Press Ctrl-C to stop." in watching.out.getvalue())
    assert watching.ended()
    said = watching.out.getvalue()
    assert said.startswith("\x1b[?1049h") and "\x1b[?1049l" in said and "last verified" in said


def test_each_page_on_a_terminal_is_the_status_of_now_and_nothing_of_the_page_before(ada: Protected) -> None:
    def pages() -> list[str]:
        whole = watching.out.getvalue().split("\x1b[H")
        return [page for page in whole if "Press Ctrl-C to stop." in page]

    def latest() -> list[str]:
        return [line.split() for line in pages()[-1].splitlines() if line.strip()][2]

    with Watching(ada, terminal=True) as watching:
        watching.wait(lambda: len(pages()) > 0 and latest()[-1] == "0")
        ada.write("notes.md", "# New\n")
        ada.capture()
        watching.wait(lambda: latest()[-1] == "1")
    assert watching.ended()
    assert all(page.count("on this disk only") == 1 for page in pages())


def test_a_page_no_longer_says_that_there_is_no_daemon_once_there_is_one(ada: Protected) -> None:
    daemon = Daemon(ada, lambda one: one)
    with Watching(ada, terminal=True) as watching:
        watching.wait(lambda: "checks the state every" in watching.out.getvalue())
        with Served(ada.context, {"status": daemon.answer}):
            watching.wait(lambda: "checks the state every" not in watching.out.getvalue().rpartition("\x1b[H")[2])
            watching._over.set()


def test_ctrl_c_ends_it_cleanly(ada: Protected) -> None:
    command = ["status", "--watch"]
    with preloaded.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        first = running.stdout.readline()
        running.send_signal(signal.SIGINT)
        out, err = running.communicate(timeout=patience())
    assert "ada: ok, never verified, sequence 0" in first
    assert (running.returncode, out) == (0, "") and "Traceback" not in err


def test_what_a_watch_shows_is_what_status_says(ada: Protected) -> None:
    paused = agents.save_agent(ada.context, replace(ada.agent, paused=True))
    assert gather_status(ada.context).agents[0].state == "paused" and paused.paused
    with Watching(ada) as watching:
        watching.wait(lambda: len(watching.lines) == 1)
    assert watching.ended() and "ada: paused" in watching.lines[0]


# How safe -------------------------------------------------------------------------------------------------------


def _said(ada: Protected, *, terminal: bool = True) -> str:
    output = CommandOutput(as_json=False)
    made = io.StringIO()
    output.console = Console(file=made, force_terminal=terminal, width=100, soft_wrap=True, color_system="standard")
    session = CommandSession(ada.context, output)
    status_text.print_status_view(session, view_status(session, None))
    return made.getvalue()


def test_the_first_line_is_yellow_and_each_gap_has_a_command_while_not_everything_is_safe(ada: Protected) -> None:
    said = _said(ada)
    assert said.startswith("\x1b[1;33mnever verified, on this disk only: 3 steps left to be fully safe\x1b[0m\n")
    assert "Not safe yet: ada: the only copy is on this machine." in said
    assert "To fix it: lifeboat remote add NAME URL" in said
    assert "To fix it: lifeboat keys init" in said
    safety = cli_client.run("status")["safety"]
    assert safety["level"] == "incomplete"
    assert [gap["code"] for gap in safety["gaps"]] == ["unverified", "only_here", "words_unproven"]


def test_the_first_line_is_red_while_something_needs_the_user(ada: Protected) -> None:
    ada.workspace.rename(ada.workspace.with_name("away"))
    assert _said(ada).startswith("\x1b[1;31m")


def test_doctor_gives_no_fix_with_a_placeholder_for_a_vault_that_is_missing(ada: Protected) -> None:
    (ada.context.home.vault_folder(ada.agent.id) / "vault.db").unlink()
    findings = cli_client.run("doctor", expect=1)["findings"]
    fixes = [finding["fix"] for finding in findings if "vault.db" in finding["result"]]
    assert fixes and all(fix is None or "AGENT" not in fix for fix in fixes)
    assert "lifeboat agents remove ada" in fixes


@pytest.mark.parametrize("damage", ["missing", "damaged"])
def test_of_a_vault_that_cannot_be_opened_it_says_why_and_the_fix_and_claims_nothing(
    ada: Protected, damage: str, capsys: pytest.CaptureFixture[str]
) -> None:
    database = ada.context.home.vault_folder(ada.agent.id) / "vault.db"
    database.unlink()
    if damage == "damaged":
        database.write_bytes(b"x" * 4096)
    assert program.run_command(["status"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("the vault of ada could not be opened: error\n")
    reason = f"the database {database} does not exist" if damage == "missing" else f"{database}: file is not a database"
    assert f"ada: the vault could not be opened: {reason}" in said
    assert "To fix it: lifeboat " in said and "AGENT" not in said
    assert "None" not in said and "never" not in said.splitlines()[2]
    assert said.splitlines()[2].split() == ["ada", "error", "unknown", "unknown", "unknown"]
