"""Dry runs: who could read a remote, and what adopting an agent would change."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

from lifeboat_alf.seams import system_clock as clocks
from lifeboat_core.home.context import Context
from lifeboat_keys.home.home_keys import KeyState
from lifeboat_keys.pairs.user_key import UserKey
from lifeboat_keys.stores.store_kinds import StoreKind
from support.cli.cli_client import run
from support.core.machines import Machine
from support.core.protected import Protected

PASSPHRASE = "a boat under the bridge"


@pytest.mark.parametrize(("options", "said"), [(("--plain",), "not encrypted"), ((), "Without your key")])
def test_before_a_folder_is_added_it_is_said_who_can_read_it(
    isolated_home: Path, tmp_path: Path, options: tuple[str, ...], said: str
) -> None:
    (tmp_path / "stick").mkdir()
    document = run("remote", "add", "stick", (tmp_path / "stick").as_uri(), *options, "--dry-run")
    assert document["dry_run"] is True and said in document["readable"]
    assert run("remote", "list")["remotes"] == []


def test_what_can_be_read_is_listed_with_each_second_copy(isolated_home: Path, tmp_path: Path) -> None:
    (tmp_path / "stick").mkdir()
    added = run("remote", "add", "stick", (tmp_path / "stick").as_uri())
    assert [one["readable"] for one in run("remote", "list")["remotes"]] == [added["readable"]]


def in_the_home_of(machine: Machine, patch: pytest.MonkeyPatch) -> None:
    for name in ("LIFEBOAT_HOME", "HOME"):
        patch.setenv(name, machine.context.environment[name])


def test_before_an_agent_is_adopted_it_is_said_what_changes_and_from_whom(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "one").mkdir()
    machines = [Machine(tmp_path / name) for name in ("laptop", "desktop")]
    laptop, desktop = machines
    laptop.context.keys().ensure()
    desktop.learn_words_of(laptop)
    for machine in machines:
        machine.add_remote("one", (tmp_path / "one").as_uri(), sealed=True)
    laptop.add(name="ada")
    assert laptop.push("one").state == "ok"
    desktop.bring_back(laptop.agent.id, tmp_path / "new", "one", take_over=laptop.context.keys().own_name)
    desktop.write("MEMORY.md", "# Memory\n\nThe desktop has it.\n")
    assert desktop.capture_and_push("one").state == "ok"
    laptop.write("notes/later.md", "Written while the desktop had it.\n")
    in_the_home_of(laptop, monkeypatch)
    monkeypatch.setattr(clocks.SystemClock, "now", lambda _: laptop.context.clock.now())
    before = laptop.entries_at()
    document = run("agents", "adopt", "ada", "--dry-run")
    assert document["take_over"] == desktop.context.keys().own_name == document["machine"]
    assert "notes/later.md" in str(document["changes"])
    assert laptop.entries_at() == before


@pytest.mark.usefixtures("lightest_wrapping")
def test_a_passphrase_for_a_rotation_comes_on_standard_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = Protected(tmp_path / "ada")
    home.add()
    for name in ("LIFEBOAT_HOME", "HOME"):
        monkeypatch.setenv(name, home.context.environment[name])
    monkeypatch.setenv("LIFEBOAT_PASSPHRASE", PASSPHRASE)
    Context.open().keys().move(StoreKind.PASSPHRASE)
    monkeypatch.delenv("LIFEBOAT_PASSPHRASE")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(f"{PASSPHRASE}\n".encode())))
    words = tmp_path / "words"
    report = run("keys", "rotate", "--words-to", words, "--no-prove", "--yes", "--passphrase-stdin")
    assert UserKey.from_words(words.read_text()).key_id == report["key_id"]
    assert Context.open().keys().status().state is KeyState.NEEDS_KEY
    monkeypatch.setenv("LIFEBOAT_PASSPHRASE", PASSPHRASE)
    assert Context.open().keys().user_key().key_id == report["key_id"]
