"""`lifeboat remote` with an SFTP server: added, shown, examined, tested, synchronized, restored on a clean machine."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_core.home.context import Context
from lifeboat_core.remotes import remote_registry
from support.cli.cli_client import run
from support.core.ssh_server import SshServer, ssh_server, write_program
from support.terminal import Terminal

TEXT = "The orchard is behind the house."


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SshServer]:
    with ssh_server(tmp_path_factory.mktemp("cli") / "server") as running:
        yield running


@pytest.fixture
def url(server: SshServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The address of a remote of one test, whose `ssh` is first in the PATH."""
    monkeypatch.setenv("PATH", server.programs)
    return server.url(tmp_path.name)


@pytest.fixture
def context(isolated_home: Path) -> Context:
    return Context.open()


def add_agent(workspace: Path) -> None:
    workspace.mkdir()
    (workspace / "SOUL.md").write_text("# Ada\n")
    (workspace / "MEMORY.md").write_text(f"# Memory\n\n{TEXT}\n")
    run("agents", "add", str(workspace), "--name", "ada")


def findings(*arguments: str, expect: int = 0) -> list[JsonObject]:
    found: list[JsonObject] = run("doctor", *arguments, expect=expect)["findings"]
    return found


def test_an_added_server_says_who_can_read_it_and_how_many_may_write(url: str, context: Context) -> None:
    document = run("remote", "add", "server", url)
    assert (document["url"], document["writers"], document["sealed"]) == (url, "several", True)
    assert "Without your key" in document["readable"]
    shown = run("remote", "show", "server")
    assert (shown["kind"], shown["writers"], shown["needs_token"]) == ("sftp", "several", False)


def test_doctor_says_how_the_server_is_reached_and_what_it_can_do(
    url: str, context: Context, server: SshServer
) -> None:
    context.keys().ensure()
    run("remote", "add", "server", url)
    found = {each["subject"]: each["result"] for each in findings("--remote", "server")}
    assert f"configuration of {server.folder}/bin/ssh" in found["access"]
    assert "Several machines may write to the server" in found["store"]


def test_doctor_names_a_missing_program_and_library(
    url: str, context: Context, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("remote", "add", "server", url)
    known = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "paramiko" else known(name))
    found = {each["subject"]: each for each in findings(expect=1)}["server"]
    assert found["level"] == "error" and "paramiko" in found["result"] and "paramiko" in found["fix"]
    monkeypatch.setattr(importlib.util, "find_spec", known)
    monkeypatch.setenv("PATH", str(tmp_path))
    found = {each["subject"]: each for each in findings(expect=1)}["server"]
    assert "the program ssh" in found["result"]


def test_without_the_library_the_command_that_installs_it_is_named(
    url: str, context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in list(sys.modules):
        if name.startswith(
            ("paramiko", "lifeboat_core.remotes.sftp.sftp_client", "lifeboat_core.remotes.sftp.sftp_files")
        ):
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "paramiko", None)
    error = run("remote", "add", "server", url, expect=1)["error"]
    assert "paramiko" in error["message"] and "paramiko" in error["fix"]
    assert remote_registry.list_remotes(context) == []


def test_on_a_terminal_ssh_asks_the_user_for_the_host_key(
    server: SshServer, context: Context, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known, config = tmp_path / "known_hosts", tmp_path / "ssh_config"
    text = (server.folder / "ssh_config").read_text()
    config.write_text(text.replace("BatchMode yes", "").replace(str(server.known_hosts), str(known)))
    monkeypatch.setenv("PATH", write_program(tmp_path / "bin", f'exec /usr/bin/ssh -F "{config}" "$@"'))
    with Terminal("remote", "add", "server", server.url(tmp_path.name)) as terminal:
        terminal.wait_for("continue connecting")
        terminal.type("yes")
        terminal.wait_for("Added the remote server")
        assert terminal.ended() == 0
    assert known.exists()


def test_a_password_in_the_address_is_refused_and_not_repeated(context: Context) -> None:
    error = run("remote", "add", "server", "sftp://ada:hidden@boat.example.com/srv/boat", expect=1)["error"]
    assert "password" in error["message"] and "hidden" not in str(error)


def test_options_and_credentials_of_buckets_are_refused(context: Context) -> None:
    place = ("remote", "add", "server", "sftp://boat.example.com/srv/boat")
    assert "only be used for a bucket" in run(*place, "--region", "eu-1", expect=1)["error"]["message"]


def test_the_words_and_the_address_restore_on_a_clean_machine(
    url: str, context: Context, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("remote", "add", "server", url)
    add_agent(tmp_path / "notes")
    assert run("sync")["agents"][0]["remotes"][0]["state"] == "ok"
    (remote,) = run("status")["agents"][0]["remotes"]
    assert (remote["writers"], remote["limits"]) == ("several", [])
    words = " ".join(context.keys().user_key().words())
    monkeypatch.setenv("LIFEBOAT_HOME", str(tmp_path / "clean"))
    (tmp_path / "words").write_text(words)
    run("keys", "recover", "--words-from", tmp_path / "words")
    run("remote", "add", "server", url)
    run("restore", "ada", "--from", "server", "--to", str(tmp_path / "back"))
    assert (tmp_path / "back/MEMORY.md").read_bytes() == (tmp_path / "notes/MEMORY.md").read_bytes()
