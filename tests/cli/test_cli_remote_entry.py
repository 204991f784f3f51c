"""How an address or a join line reaches `lifeboat remote add`: asked for without echo, on standard input, mistyped."""

from __future__ import annotations

import contextlib
import io
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_cli import program
from lifeboat_core.errors import BadSetting
from lifeboat_core.home.context import Context
from lifeboat_core.remotes import mistyped_addresses, remote_registry
from support.cli.cli_client import run
from support.endpoint.endpoint_servers import RunningEndpoint, running_endpoint
from support.terminal import Terminal

SECRET = "lb_abcdefgh_" + "A" * 43


@pytest.fixture(scope="module")
def endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningEndpoint]:
    with running_endpoint(tmp_path_factory.mktemp("served")) as made:
        yield made


@pytest.fixture
def context(isolated_home: Path) -> Context:
    return Context.open()


def given(text: str, *arguments: str, expect: int = 0) -> JsonObject:
    """Run a command with a text on standard input, which is no terminal."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(sys, "stdin", io.StringIO(text))
        return run(*arguments, expect=expect)


# On a terminal --------------------------------------------------------------------------------------------------------


def test_on_a_terminal_the_join_line_is_asked_for_and_not_shown(endpoint: RunningEndpoint, context: Context) -> None:
    with Terminal("remote", "add", "home") as terminal:
        terminal.wait_for("The join line .input is hidden.: ")
        terminal.type(endpoint.join)
        assert terminal.ended() == 0
    assert endpoint.token not in terminal.said and "Added the remote home" in terminal.said
    assert remote_registry.load_token(context, "home") == endpoint.token


def test_a_url_may_be_entered_in_its_place(context: Context, tmp_path: Path) -> None:
    with Terminal("remote", "add", "stick") as terminal:
        terminal.wait_for("The join line")
        terminal.type((tmp_path / "stick").as_uri())
        assert terminal.ended() == 0
    assert remote_registry.find_remote(context, "stick").url == (tmp_path / "stick").as_uri()


@pytest.mark.parametrize("words", [("add", "home", "-"), ("add", "home", "--join-stdin")])
def test_also_where_standard_input_is_asked_for_a_terminal_shows_nothing(
    endpoint: RunningEndpoint, context: Context, words: tuple[str, ...]
) -> None:
    with Terminal("remote", *words) as terminal:
        terminal.wait_for("The join line")
        terminal.type(endpoint.join)
        assert terminal.ended() == 0
    assert endpoint.token not in terminal.said


def test_a_token_that_is_asked_for_is_not_shown(endpoint: RunningEndpoint, context: Context) -> None:
    run("remote", "add", "home", endpoint.join)
    with Terminal("remote", "token", "home") as terminal:
        terminal.wait_for(r"The token \(input is hidden")
        terminal.type(SECRET)
        assert terminal.ended() == 1
    assert SECRET not in terminal.said
    with Terminal("remote", "token", "home", "--token-stdin") as terminal:
        terminal.wait_for(r"The token \(input is hidden")
        terminal.type(endpoint.token)
        assert terminal.ended() == 0
    assert endpoint.token not in terminal.said


def test_nothing_entered_is_an_error_that_names_the_help(context: Context) -> None:
    with Terminal("remote", "add", "home") as terminal:
        terminal.wait_for("The join line")
        terminal.type("")
        assert terminal.ended() == 1
    assert "the join line must not be empty" in terminal.said


def test_text_that_is_no_address_is_told_how_a_join_line_begins(context: Context) -> None:
    with Terminal("remote", "add", "home") as terminal:
        terminal.wait_for("The join line")
        terminal.type("nonsense")
        assert terminal.ended() == 1
    assert "lifeboat+https://" in terminal.said


def test_a_mistyped_remote_gets_a_suggestion(context: Context, tmp_path: Path) -> None:
    run("remote", "add", "stick", (tmp_path / "stick").as_uri())
    assert "Did you mean 'stick'?" in run("remote", "show", "stik", expect=1)["error"]["message"]


# Without a terminal ---------------------------------------------------------------------------------------------------


def test_a_dash_reads_the_join_line_from_standard_input(endpoint: RunningEndpoint, context: Context) -> None:
    document = given(endpoint.join + "\n", "remote", "add", "home", "-")
    assert document["url"] == endpoint.url and endpoint.token not in str(document)
    assert remote_registry.load_token(context, "home") == endpoint.token


def test_without_a_terminal_standard_input_is_read_only_if_asked_for(
    endpoint: RunningEndpoint, context: Context, tmp_path: Path
) -> None:
    error = given(endpoint.join, "remote", "add", "my home", expect=2)["error"]
    assert (error["code"], error["fix"]) == ("usage", "lifeboat remote add 'my home' - < FILE")
    error = given(endpoint.join, "remote", "add", "home", expect=2)["error"]
    words = shlex.split(error["fix"])
    assert words[-2:] == ["<", "FILE"] and remote_registry.list_remotes(context) == []
    given(endpoint.join, *words[1:-2])
    assert remote_registry.find_remote(context, "home").url == endpoint.url


def test_a_token_without_a_terminal_names_the_command_that_reads_it(context: Context, tmp_path: Path) -> None:
    error = given("", "remote", "token", "home", expect=2)["error"]
    assert error["fix"] == "lifeboat remote token home --token-stdin < FILE"


@pytest.mark.parametrize("text", ["", "\n", "two\nlines\n", "a\x1b[2Jb"])
def test_what_is_no_line_is_refused_and_not_repeated(context: Context, text: str) -> None:
    error = given(text, "remote", "add", "home", "-", expect=1)["error"]
    assert error["code"] == "bad_setting" and "two" not in error["message"]


# Mistyped -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("/media/stick/x", "file:///media/stick/x"),
        ("/media/my stick/x", "file:///media/my%20stick/x"),
        ("/media/stick/../disk", "file:///media/disk"),
        ("file://media/stick/x", "file:///media/stick/x"),
        ("files:///media/stick", "file:///media/stick"),
        ("fiel:///media/my%20stick", "file:///media/my%20stick"),
        ("file//media/stick", "file:///media/stick"),
        ("htps://boat.example.com/a", "https://boat.example.com/a"),
        ("https//boat.example.com", "https://boat.example.com"),
        ("http//boat.example.com", "http://boat.example.com"),
        ("boat.example.com", "https://boat.example.com"),
        ("davs://cloud.example.com/dav/ada", "webdav+https://cloud.example.com/dav/ada"),
        ("webdav://cloud.example.com/dav/ada", "webdav+https://cloud.example.com/dav/ada"),
        ("boat.example.com:8443/x", "https://boat.example.com:8443/x"),
    ],
)
def test_an_address_with_a_slip_is_answered_with_the_one_that_was_meant(
    context: Context, text: str, meant: str
) -> None:
    error = run("remote", "add", "my home", text, expect=1)["error"]
    assert error["code"] == "bad_setting"
    assert shlex.split(error["fix"]) == ["lifeboat", "remote", "add", "my home", meant]
    mistyped_addresses.refuse_mistyped_address("home", meant)
    assert remote_registry.list_remotes(context) == []


def test_a_relative_path_is_meant_from_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, context: Context) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "stick").mkdir()
    for text in ("./stick", "stick", f"../{tmp_path.name}/stick"):
        fix = run("remote", "add", "stick", text, expect=1)["error"]["fix"]
        assert shlex.split(fix)[-1] == (tmp_path / "stick").as_uri()
    run(*shlex.split(fix)[1:])
    assert remote_registry.find_remote(context, "stick").sealed


@pytest.mark.parametrize(
    "text",
    [
        f"lifebaot+https://{SECRET}@boat.example.com/",
        f"lifeboat+http:s//{SECRET}@boat.example.com/",
        f"htps://{SECRET}@boat.example.com/",
        f"davs://ada:{SECRET}@lifeboat.example.com/",
    ],
)
def test_a_mistyped_join_line_is_not_repeated(context: Context, text: str) -> None:
    notes = io.StringIO()
    with contextlib.redirect_stderr(notes):
        assert program.run_command(["remote", "add", "home", text]) == 1
    assert SECRET not in notes.getvalue() and "lifeboat" in notes.getvalue()


@pytest.mark.parametrize(
    "text",
    ["https://boat.example.com", "file:///media/stick", "file:/media/stick", f"lifeboat+https://{SECRET}@b.example/"],
)
def test_a_correct_address_passes(text: str) -> None:
    mistyped_addresses.refuse_mistyped_address("home", text)


@pytest.mark.parametrize("text", ["gopher://boat.example.com", "word", "", "?"])
def test_what_resembles_nothing_gets_the_list_of_schemes(context: Context, text: str) -> None:
    error = run("remote", "add", "home", text, expect=1)["error"]
    assert "https://" in error["message"] and error["fix"] == "lifeboat remote add --help"


def test_a_path_in_which_nothing_is_wrong_but_the_scheme_raises_no_other_error() -> None:
    with pytest.raises(BadSetting) as caught:
        mistyped_addresses.refuse_mistyped_address("stick", r"C:\stick")
    assert "is a path" in caught.value.message


# Twice ----------------------------------------------------------------------------------------------------------------


def test_the_same_remote_twice_says_that_nothing_changed(
    context: Context, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    url = (tmp_path / "stick").as_uri()
    run("remote", "add", "stick", url)
    before = remote_registry.find_remote(context, "stick")
    capsys.readouterr()
    assert program.run_command(["remote", "add", "stick", url]) == 0
    assert capsys.readouterr().out == "The remote stick has this address already. Nothing was changed.\n"
    assert remote_registry.find_remote(context, "stick") == before
    assert program.run_command(["remote", "add", "stick", url, "--optional"]) == 0
    assert "Nothing was changed" not in capsys.readouterr().out


def test_the_same_address_under_another_name_names_the_one_that_has_it(context: Context, tmp_path: Path) -> None:
    url = (tmp_path / "stick").as_uri()
    run("remote", "add", "stick", url)
    error = run("remote", "add", "other", url, expect=3)["error"]
    assert (error["code"], error["message"]) == ("remote_exists", f"{url} is already the address of the remote stick")
    assert run(*shlex.split(error["fix"])[1:])["name"] == "stick"


def test_another_remote_under_a_taken_name_is_offered_a_free_one(context: Context, tmp_path: Path) -> None:
    for name in ("stick", "stick-2"):
        run("remote", "add", name, (tmp_path / name).as_uri())
    error = run("remote", "add", "stick", (tmp_path / "third one").as_uri(), expect=1)["error"]
    assert error["code"] == "remote_unreachable" and shlex.split(error["fix"])[3] == "stick-3"
    run(*shlex.split(error["fix"])[1:])
    assert remote_registry.find_remote(context, "stick-3").url == (tmp_path / "third one").as_uri()


def test_a_name_in_another_case_names_the_one_that_has_it(context: Context, tmp_path: Path) -> None:
    run("remote", "add", "stick", (tmp_path / "stick").as_uri())
    error = run("remote", "add", "STICK", (tmp_path / "other").as_uri(), expect=3)["error"]
    assert error["message"] == "a remote already has the name 'stick'"
    assert run(*shlex.split(error["fix"])[1:])["name"] == "stick"
