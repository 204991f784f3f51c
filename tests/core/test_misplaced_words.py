"""The words of a key in a field that is not theirs: refused, repeated nowhere, kept nowhere."""

from __future__ import annotations

import io
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import click
import pytest

from lifeboat_cli.program import program, run_command
from lifeboat_cli.setup import setup_questions
from lifeboat_core.errors import BadSetting, WordsError
from lifeboat_core.home.context import Context
from lifeboat_core.home.lifeboat_home import Home
from lifeboat_core.machine.typed_folders import parse_existing_folder, parse_whole_path
from lifeboat_core.texts import misplaced_words
from lifeboat_keys.recovery import bip39_words
from support.alf.raising import raises_code

PHRASE = bip39_words.to_words(bytes(range(32)))
TEXT = " ".join(PHRASE)


def _commands(command: click.Command, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            found = command.get_command(context, name)
            assert found is not None
            yield from _commands(found, (*path, name))
    else:
        yield path, command


def _fields() -> Iterator[tuple[tuple[str, ...], list[str]]]:
    """Every command with every argument and option that takes a text."""
    for path, command in _commands(program):
        for field in command.params:
            if isinstance(field, click.Argument):
                yield path, []
            elif isinstance(field, click.Option) and not field.is_flag and not field.count:
                yield path, [field.opts[0]]


FIELDS = list(_fields())


def _assert_nothing_is_kept(folder: Path, said: str) -> None:
    kept = "\n".join(f"{path} {path.read_bytes()!r}" for path in folder.rglob("*") if path.is_file())
    for text in (said, kept):
        assert f"{PHRASE[0]} {PHRASE[1]}" not in text and quote(f"{PHRASE[0]} {PHRASE[1]}") not in text


def test_every_field_of_every_command_refuses_them(isolated_home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert len(FIELDS) > 150
    for path, option in FIELDS:
        for spelled in ([TEXT], PHRASE, [f"file:///{quote(TEXT)}"]):
            assert run_command([*path, *option, *spelled, "--json"]) == 3, path
            said = "".join(capsys.readouterr())
            assert '"code": "words_misplaced"' in said, path
            assert PHRASE[0] not in said
    _assert_nothing_is_kept(isolated_home.parent, "")


STDIN_FIELDS = {
    ("remote", "add", "home", "--join-stdin"): True,
    ("remote", "add", "home", "https://127.0.0.1:1", "--token-stdin"): True,
    ("remote", "add", "bucket", "s3://ada-backup/lifeboat", "--credentials-stdin"): True,
    ("config", "set", "notify.ntfy.url", "--stdin"): True,
}


@pytest.mark.parametrize("command", STDIN_FIELDS)
def test_a_field_of_standard_input_refuses_them(
    command: tuple[str, ...], isolated_home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(f"{TEXT}\n"))
    assert run_command([*command, "--json"]) == 3
    said = "".join(capsys.readouterr())
    assert '"code": "words_misplaced"' in said
    _assert_nothing_is_kept(isolated_home.parent, said)


def test_every_option_that_reads_standard_input_is_known_here() -> None:
    """A new one either refuses the words, as those above do, or is made for them or for other secrets."""
    made_for_secrets = {"--passphrase-stdin", "--text-stdin", "--pattern-stdin", "--answers-stdin"}
    refusing = {"--join-stdin", "--token-stdin", "--credentials-stdin", "--stdin"}
    found = {
        name for _, command in _commands(program) for field in command.params for name in field.opts if "stdin" in name
    }
    assert found == made_for_secrets | refusing


def test_a_question_of_the_setup_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = iter([TEXT, "stick", TEXT, "a token"])
    monkeypatch.setattr(click, "prompt", lambda *args, **kwargs: next(answers))
    assert setup_questions.ask_text("Its name") == "stick"
    assert setup_questions.ask_secret("The token") == "a token"


@pytest.mark.parametrize(
    "text",
    [
        TEXT,
        TEXT.upper(),
        "\n".join(f"{number}. {word}" for number, word in enumerate(PHRASE, 1)),
        "-".join(PHRASE),
        f"/media/stick/{TEXT}",
        f"file:///srv/ada/{quote(TEXT)}",
        f"my words: {' '.join(PHRASE[:12])}",
        f"  {TEXT.replace(' ', ', ')}  ",
        "".join(word.title() for word in PHRASE),
        "".join(PHRASE),
        "".join(f"{number}{word}" for number, word in enumerate(PHRASE, 1)),
        " ".join(word[:4] for word in PHRASE),
        " ".join(word[:4] if number % 2 else word for number, word in enumerate(PHRASE)),
        "".join(word[:4].upper() for word in PHRASE),
        f"/srv/ada/MyWords{''.join(word[:4].title() for word in PHRASE)}.txt",
    ],
)
def test_words_are_found_however_they_are_written(text: str) -> None:
    assert misplaced_words.holds_recovery_words(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ".join(PHRASE[:11]),
        "/srv/ada/.openclaw/workspace",
        "the memory about the boat and the harbour that was kept in the second drawer of the old desk by the window",
        "lifeboat+https://boat.example.com:8443/?pin=0123456789abcdef#token",
        "".join(PHRASE[:8]),
        "lifeboat endpoint token add home name laptop lifeboat endpoint lifeboat written again",
        "".join(f"{word[:4]}x" for word in PHRASE),
        "d" * 5000,
        "pneumonoultramicroscopicsilicovolcanoconiosis-supercalifragilisticexpialidocious",
    ],
)
def test_other_texts_are_no_words(text: str) -> None:
    assert not misplaced_words.holds_recovery_words(text)


def test_no_page_of_the_documentation_holds_any() -> None:
    pages = sorted((Path(__file__).parents[2] / "docs").rglob("*.md"))
    assert len(pages) > 20
    assert [page.name for page in pages if misplaced_words.holds_recovery_words(page.read_text())] == []


NEW_PASSPHRASES = {
    "keys init": ["keys", "init", "--store", "passphrase", "--words-to", "WORDS", "--no-prove"],
    "keys recover": ["keys", "recover", "--store", "passphrase", "--words-from", "KEY"],
    "alf export": ["alf", "export", "openclaw", "WORKSPACE", "-o", "FILE", "--encrypt"],
    "alf purge": ["alf", "purge", "PLAIN", "--text", "Ada", "-o", "FILE", "--encrypt"],
}


@pytest.mark.parametrize("given", ["standard input", "variable", "file"])
@pytest.mark.parametrize("command", ["keys init", "keys recover"])
def test_no_key_is_wrapped_with_them_wherever_the_passphrase_comes_from(
    isolated_home: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    command: str,
    given: str,
) -> None:
    places = {"WORDS": tmp_path / "words", "KEY": tmp_path / "key"}
    places["KEY"].write_text(TEXT)
    arguments = [str(places.get(each, each)) for each in NEW_PASSPHRASES[command]]
    if given == "standard input":
        arguments.append("--passphrase-stdin")
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(f"{TEXT}\n".encode())))
    elif given == "variable":
        monkeypatch.setenv("LIFEBOAT_PASSPHRASE", TEXT)
    else:
        (tmp_path / "passphrase").touch(0o600)
        (tmp_path / "passphrase").write_text(f"{TEXT}\n")
        monkeypatch.setenv("LIFEBOAT_PASSPHRASE_FILE", str(tmp_path / "passphrase"))
    assert run_command([*arguments, "--json"]) == 3
    said = "".join(capsys.readouterr())
    assert '"code": "words_as_passphrase"' in said
    assert not list(isolated_home.rglob("wrapped/*"))
    _assert_nothing_is_kept(isolated_home, said)


@pytest.mark.parametrize("command", ["alf export", "alf purge"])
def test_no_archive_is_encrypted_with_them(
    isolated_home: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    command: str,
) -> None:
    places = {name: tmp_path / name for name in ("WORKSPACE", "FILE", "PLAIN")}
    places["WORKSPACE"].mkdir()
    for name in ("SOUL.md", "USER.md"):
        (places["WORKSPACE"] / name).write_text("# Ada\n")
    assert run_command(["alf", "export", "openclaw", str(places["WORKSPACE"]), "-o", str(places["PLAIN"])]) == 0
    capsys.readouterr()
    monkeypatch.setattr(sys, "stdin", io.StringIO(f"{TEXT}\n"))
    arguments = [str(places.get(each, each)) for each in NEW_PASSPHRASES[command]]
    assert run_command([*arguments, "--passphrase-stdin", "--json"]) == 3
    assert '"code": "words_misplaced"' in "".join(capsys.readouterr())
    assert not places["FILE"].exists()


def test_a_purge_of_words_that_leaked_says_how(isolated_home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["purge", "ada", "--text", TEXT]) == 3
    assert "lifeboat purge AGENT --text-stdin" in capsys.readouterr().err


# Folders in forms -------------------------------------------------------------------------------------------------


def test_a_folder_has_to_be_a_whole_path(tmp_path: Path) -> None:
    assert parse_whole_path("~/stick").is_absolute()
    for relative in ("stick", "./stick", TEXT, ""):
        with pytest.raises(BadSetting, match="absolute path"):
            parse_whole_path(relative)


def test_a_folder_that_an_agent_comes_from_has_to_be_there(tmp_path: Path) -> None:
    assert parse_existing_folder(str(tmp_path)) == tmp_path
    with pytest.raises(BadSetting, match="does not exist"):
        parse_existing_folder(str(tmp_path / "stick"))


# Files that were edited by hand, and variables ---------------------------------------------------------------------

ONE_A_LINE = "\n".join(f'  "{word}",' for word in PHRASE)


def _protected(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Context:
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    (workspace / "SOUL.md").write_text("# Soul\n")
    (workspace / "USER.md").write_text("# User\n")
    stick = tmp_path / "stick"
    stick.mkdir()
    assert run_command(["agents", "add", str(workspace), "--name", "ada"]) == 0
    assert run_command(["remote", "add", "stick", stick.as_uri()]) == 0
    capsys.readouterr()
    return Context.open()


def _edited(context: Context, name: str) -> Path:
    """A file of the home that a user may edit."""
    home = context.home.folder
    (agent,) = (home / "agents").glob("*.toml")
    return {"config": home / "config.toml", "private": home / "private.toml", "agent": agent}.get(
        name, home / "remotes" / "stick.toml"
    )


@pytest.mark.parametrize("file", ["config", "private", "agent", "remote"])
@pytest.mark.parametrize(
    "line",
    [f"# {TEXT}\n", f'name = "{TEXT}"\n', f'url = "file:///{quote(TEXT)}"\n', f"words = [\n{ONE_A_LINE}\n]\n"],
    ids=["comment", "name", "url", "list"],
)
def test_a_file_with_them_is_refused_and_named_and_never_shown(
    isolated_home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], file: str, line: str
) -> None:
    context = _protected(tmp_path, capsys)
    path = _edited(context, file)
    before = path.read_text() if path.exists() else ""
    path.write_text(line + before)
    said = ""
    for words_ in (["remote", "list"], ["agents", "list"], ["config", "list"], ["status"], ["doctor"]):
        run_command(words_)
        said += "".join(capsys.readouterr())
    assert "recovery words" in said
    assert path.name.removesuffix(".toml") in said
    assert f"{PHRASE[0]} {PHRASE[1]}" not in said and f"{PHRASE[0]}%20{PHRASE[1]}" not in said
    copies = [each for each in isolated_home.rglob("*") if each.is_file() and each != path]
    assert not any(f"{PHRASE[0]} {PHRASE[1]}".encode() in each.read_bytes() for each in copies)


@pytest.mark.parametrize(
    "name", ["LIFEBOAT_HOME", "LIFEBOAT_KEY_FILE", "LIFEBOAT_PASSPHRASE_FILE", "LIFEBOAT_ENDPOINT_DATA"]
)
def test_a_variable_with_them_is_refused(
    isolated_home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv(name, TEXT)
    assert run_command(["status", "--json"]) == 3
    said = "".join(capsys.readouterr())
    assert '"code": "words_misplaced"' in said and f"unset {name}" in said and TEXT not in said
    with raises_code(WordsError.WORDS_MISPLACED):
        Home.locate({name: TEXT})


def test_a_passphrase_may_be_made_of_words_of_the_list() -> None:
    Home.locate({"LIFEBOAT_PASSPHRASE": TEXT, "OTHER": TEXT})


@pytest.mark.parametrize("url", ["file:stick", "file://stick/lifeboat"])
def test_a_remote_in_a_file_names_a_whole_path(
    isolated_home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], url: str
) -> None:
    context = _protected(tmp_path, capsys)
    path = _edited(context, "remote")
    path.write_text(re.sub(r'url = ".*"', f'url = "{url}"', path.read_text()))
    assert run_command(["remote", "list", "--json"]) in (0, 1)
    assert "not the URL of a folder" in capsys.readouterr().out
