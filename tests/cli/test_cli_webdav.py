"""`lifeboat remote` with a WebDAV server: added, shown, examined, tested, synchronized, restored on a clean machine."""

from __future__ import annotations

import io
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_core.home.context import Context
from lifeboat_core.remotes import remote_registry
from lifeboat_keys.stores import keyring_store
from support.cli.cli_client import run
from support.core.object_store import Conditions
from support.core.webdav_machines import shorten_waits
from support.core.webdav_servers import CREDENTIALS, PASSWORD, USER, SmallServer, small_server, wsgidav_server
from support.keys import keyring_fakes
from support.terminal import Terminal

TEXT = "The orchard is behind the house."


@pytest.fixture(autouse=True)
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    shorten_waits(monkeypatch)


@pytest.fixture
def server() -> Iterator[SmallServer]:
    with small_server() as running:
        yield running


@pytest.fixture
def context(isolated_home: Path) -> Context:
    return Context.open()


def typed(*arguments: str, text: str, expect: int = 0) -> JsonObject:
    """Run a command with a text on standard input."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(sys, "stdin", io.StringIO(text))
        return run(*arguments, expect=expect)


def add(url: str, *options: str, text: str = CREDENTIALS, expect: int = 0) -> JsonObject:
    return typed("remote", "add", "cloud", url, "--credentials-stdin", *options, text=text, expect=expect)


def add_agent(workspace: Path) -> None:
    workspace.mkdir()
    (workspace / "SOUL.md").write_text("# Ada\n")
    (workspace / "MEMORY.md").write_text(f"# Memory\n\n{TEXT}\n")
    run("agents", "add", str(workspace), "--name", "ada")


def test_an_added_folder_says_who_can_read_it_and_how_many_may_write(server: SmallServer, context: Context) -> None:
    document = add(server.url())
    assert document["url"] == server.url()
    assert (document["writers"], document["keeps_versions"], document["sealed"]) == ("several", False, True)
    assert "Without your key" in document["readable"]
    shown = run("remote", "show", "cloud")
    assert (shown["kind"], shown["writers"]) == ("webdav", "several")


def test_the_password_is_in_no_answer_and_in_no_configuration(server: SmallServer, context: Context) -> None:
    document = add(server.url())
    context.keys().ensure()
    said = f"{document} {run('remote', 'show', 'cloud')} {run('doctor', '--remote', 'cloud', expect=0)}"
    assert PASSWORD not in said
    home = context.home.folder
    holders = [path.name for path in home.rglob("*") if path.is_file() and PASSWORD.encode() in path.read_bytes()]
    assert holders == ["cloud.token"]
    assert remote_registry.locate_token_file(context, "cloud").stat().st_mode & 0o077 == 0


def test_a_terminal_asks_for_the_user_name_and_hides_the_password(server: SmallServer, context: Context) -> None:
    with Terminal("remote", "add", "cloud", server.url()) as terminal:
        terminal.wait_for("The user name: ")
        terminal.type(USER)
        terminal.wait_for("The password .input is hidden.: ")
        terminal.type(PASSWORD)
        assert terminal.ended() == 0
    assert PASSWORD not in terminal.said and "Added the remote cloud" in terminal.said


def test_without_a_terminal_the_command_names_what_is_missing_and_its_fix_works(
    server: SmallServer, context: Context, tmp_path: Path
) -> None:
    refused = typed("remote", "add", "cloud", server.url(), text="", expect=2)["error"]
    assert "user name and the password" in refused["message"]
    words = shlex.split(refused["fix"])
    assert words[-2:] == ["<", "FILE"]
    typed(*words[1:-2], text=CREDENTIALS)
    assert remote_registry.find_remote(context, "cloud").url == server.url()


@pytest.mark.parametrize("options", [(), ("--plain", "--optional")])
def test_the_command_in_a_refusal_keeps_the_options_and_works(
    options: tuple[str, ...], server: SmallServer, context: Context
) -> None:
    refused = add(server.url(), *options, text="ada\nanother-fake-password\n", expect=1)["error"]
    assert "user name or password" in refused["message"] and "another-fake" not in str(refused)
    assert remote_registry.list_remotes(context) == []
    typed(*shlex.split(refused["fix"])[1:], text=CREDENTIALS)
    (made,) = remote_registry.list_remotes(context)
    assert (made.sealed, made.optional) == (not options, bool(options))


def test_a_changed_password_is_named_and_the_fix_replaces_it(server: SmallServer, context: Context) -> None:
    context.keys().ensure()
    add(server.url())
    remote_registry.save_token(context, "cloud", '{"user":"ada","password":"another-fake-password"}')
    refused = run("remote", "test", "cloud", expect=1)["error"]
    assert refused["fix"] == "lifeboat remote token cloud --token-stdin"
    typed(*shlex.split(refused["fix"])[1:], text=CREDENTIALS)
    assert run("remote", "test", "cloud", "--quick")["ok"]


def test_moving_the_key_into_the_keyring_moves_the_password_and_pushes_go_on(
    server: SmallServer, context: Context, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keyring_store, "PROGRAM", keyring_fakes.program("good", tmp_path / "items"))
    add(server.url())
    add_agent(tmp_path / "notes")
    run("keys", "init", "--store", "keyring", "--words-to", tmp_path / "words", "--no-prove")
    assert PASSWORD not in remote_registry.locate_token_file(context, "cloud").read_text()
    assert run("sync")["agents"][0]["remotes"][0]["state"] == "ok"
    assert [each for each in run("doctor")["findings"] if "in a file" in each["result"]] == []


@pytest.mark.parametrize("option", ["--region", "--endpoint"])
def test_an_option_of_buckets_is_refused(option: str, server: SmallServer, context: Context) -> None:
    refused = add(server.url(), option, "eu-1", expect=1)
    assert "can only be used for a bucket" in refused["error"]["message"]


def test_a_limit_is_said_when_it_is_added_and_in_the_status(context: Context, tmp_path: Path) -> None:
    with small_server(Conditions.IGNORED) as server:
        assert add(server.url())["writers"] == "one"
        add_agent(tmp_path / "notes")
        (remote,) = run("status")["agents"][0]["remotes"]
        assert remote["writers"] == "one"
        assert ["One machine" in each for each in remote["limits"]] == [True]


def test_doctor_names_a_remote_whose_password_is_missing(server: SmallServer, context: Context) -> None:
    context.keys().ensure()
    add(server.url())
    remote_registry.save_token(context, "cloud", None)
    found = [each for each in run("doctor", expect=1)["findings"] if each["subject"] == "cloud"]
    assert [(each["level"], each["fix"]) for each in found] == [("error", "lifeboat remote token cloud --token-stdin")]
    typed(*shlex.split(found[0]["fix"])[1:], text=CREDENTIALS)
    assert [each for each in run("doctor", "--remote", "cloud")["findings"] if each["level"] == "error"] == []


def test_the_words_the_address_and_the_password_restore_on_a_clean_machine(
    context: Context, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with wsgidav_server(tmp_path / "dav") as server:
        add(server.url())
        add_agent(tmp_path / "notes")
        assert run("sync")["agents"][0]["remotes"][0]["state"] == "ok"
        words = " ".join(context.keys().user_key().words())
        monkeypatch.setenv("LIFEBOAT_HOME", str(tmp_path / "clean"))
        (tmp_path / "words").write_text(words)
        run("keys", "recover", "--words-from", tmp_path / "words")
        add(server.url())
        run("restore", "ada", "--from", "cloud", "--to", str(tmp_path / "back"))
    assert (tmp_path / "back/MEMORY.md").read_bytes() == (tmp_path / "notes/MEMORY.md").read_bytes()
