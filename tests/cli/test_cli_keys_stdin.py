"""Commands of the key as the dashboard uses them: words and passphrases on standard input only."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_core.home.context import Context
from lifeboat_keys.pairs.user_key import UserKey
from support import preloaded
from support.cli.cli_client import run
from support.patience import patience

pytestmark = pytest.mark.usefixtures("lightest_wrapping")
PASSPHRASE = "a boat under the bridge"


class Stdin:
    """Runs commands with a text as standard input."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._monkeypatch = monkeypatch

    def run(self, text: str, *arguments: str | Path, expect: int = 0) -> JsonObject:
        with self._monkeypatch.context() as patched:
            patched.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
            return run(*arguments, expect=expect)


@pytest.fixture
def typing(monkeypatch: pytest.MonkeyPatch) -> Stdin:
    return Stdin(monkeypatch)


@pytest.fixture
def words() -> list[str]:
    """Make a new key in this home and return its words."""
    Context.open().keys().ensure()
    return Context.open().keys().user_key().words()


@pytest.fixture
def unlocked_at_the_end() -> Iterator[None]:
    """End a process that keeps a key unlocked."""
    yield
    run("keys", "lock")


def _lines(words: list[str], *places: int) -> str:
    return "".join(f"{place} {words[place - 1]}\n" for place in places)


# prove ----------------------------------------------------------------------------------------------------------


def test_three_answers_prove_the_words(words: list[str], typing: Stdin) -> None:
    proven = typing.run(_lines(words, 7, 20, 3), "keys", "prove", "--answers-stdin")
    assert proven["proven_at"] == run("keys", "status")["proven_at"] is not None


def test_answers_may_have_points_capitals_and_empty_lines(words: list[str], typing: Stdin) -> None:
    text = f"1. {words[0].upper()}\n\n  24)   {words[23]}  \n9 {words[8]}"
    assert typing.run(text, "keys", "prove", "--answers-stdin")["proven_at"]


def test_one_wrong_answer_proves_nothing_and_which_it_was_is_not_said(words: list[str], typing: Stdin) -> None:
    wrong = "zoo" if words[3] != "zoo" else "able"
    error = typing.run(_lines(words, 7, 20, 3) + f"4 {wrong}\n", "keys", "prove", "--answers-stdin", expect=1)["error"]
    assert error["code"] == "words_not_proven"
    assert not any(character.isdigit() for character in error["message"]) and wrong not in json.dumps(error)
    assert run("keys", "status")["proven_at"] is None


@pytest.mark.parametrize("places", [(), (7, 9), (7, 7, 9)])
def test_fewer_than_three_places_prove_nothing(words: list[str], typing: Stdin, places: tuple[int, ...]) -> None:
    error = typing.run(_lines(words, *places), "keys", "prove", "--answers-stdin", expect=1)["error"]
    assert error["code"] == "words_not_proven" and "3 different words" in error["message"]


@pytest.mark.parametrize("line", ["hunter", "0 hunter", "25 hunter", "7", "777 hunter", "seven hunter", "²1 hunter"])
def test_what_is_no_answer_is_not_repeated(words: list[str], typing: Stdin, line: str) -> None:
    error = typing.run(f"{_lines(words, 1, 2, 3)}{line}\n", "keys", "prove", "--answers-stdin", expect=1)["error"]
    assert error["code"] == "words_not_proven" and "hunter" not in json.dumps(error)


def test_answers_go_with_no_file_of_words(words: list[str], typing: Stdin) -> None:
    assert typing.run("", "keys", "prove", "--answers-stdin", "--words-from", "-", expect=2)["error"]["code"] == "usage"


# Passphrases ----------------------------------------------------------------------------------------------------


def test_a_key_is_wrapped_with_the_passphrase_on_standard_input(typing: Stdin) -> None:
    made = typing.run(
        f"{PASSPHRASE}\n",
        "keys",
        "init",
        "--store",
        "passphrase",
        "--passphrase-stdin",
        "--words-to",
        "w",
        "--no-prove",
    )
    assert made["store"] == "passphrase"
    assert run("keys", "status")["state"] == "needs_key"


@pytest.fixture(autouse=True)
def folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("text", "said"), [("short\n", "fewer than 8"), ("", "is empty"), ("\nlonger than that\n", "empty")]
)
def test_what_is_no_passphrase_makes_no_key(typing: Stdin, text: str, said: str, isolated_home: Path) -> None:
    words = ("keys", "init", "--store", "passphrase", "--passphrase-stdin", "--words-to", "w", "--no-prove")
    error = typing.run(text, *words, expect=1)["error"]
    assert error["code"] == "no_passphrase" and said in error["message"] and "short" not in json.dumps(error)
    assert run("keys", "status")["key_id"] is None and not Path("w").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="no process holds keys open on Windows")
def test_a_locked_key_is_opened_by_the_passphrase_on_standard_input(
    typing: Stdin, unlocked_at_the_end: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    _wrap(monkeypatch)
    assert run("keys", "status")["state"] == "needs_key"
    assert typing.run(PASSPHRASE, "keys", "unlock", "--passphrase-stdin", "--for", "8h")["state"] == "ok"
    assert run("keys", "status")["state"] == "ok"


def test_a_wrong_passphrase_on_standard_input_opens_nothing(typing: Stdin, monkeypatch: pytest.MonkeyPatch) -> None:
    _wrap(monkeypatch)
    error = typing.run("a boat on the bridge\n", "keys", "unlock", "--passphrase-stdin", expect=1)["error"]
    assert error["code"] == "key_passphrase" and "bridge" not in json.dumps(error)
    assert run("keys", "status")["state"] == "needs_key"


def _wrap(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        patched.setenv("LIFEBOAT_PASSPHRASE", PASSPHRASE)
        run("keys", "init", "--store", "passphrase", "--words-to", "w", "--no-prove")


def test_the_passphrase_of_a_recovered_key_stands_before_its_words(
    typing: Stdin, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = UserKey(bytes(range(32)))
    text = f"{PASSPHRASE}\n{' '.join(key.words())}\n"
    typing.run(text, "keys", "recover", "--words-from", "-", "--store", "passphrase", "--passphrase-stdin")
    assert run("keys", "status")["state"] == "needs_key"
    monkeypatch.setenv("LIFEBOAT_PASSPHRASE", PASSPHRASE)
    assert run("keys", "status")["key_id"] == key.key_id and run("keys", "status")["state"] == "ok"


# Pipes ----------------------------------------------------------------------------------------------------------


def test_a_dashboard_makes_the_key_and_takes_its_words_through_a_pipe() -> None:
    words = ("keys", "init", "--words-to", "-", "--no-prove")
    first, again = (_piped(*words).stdout for _ in range(2))
    assert first == again and UserKey.from_words(first).key_id == run("keys", "status")["key_id"]
    assert len(first.split()) == 24, "standard output holds nothing else"


def test_a_kit_comes_through_a_pipe(words: list[str]) -> None:
    page = _piped("keys", "export-kit", "-o", "-")
    assert page.returncode == 0 and UserKey(Context.open().keys().user_key().secret).key_id in page.stdout
    assert all(word in page.stdout for word in words)


def _piped(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a command without a terminal and with empty standard input."""
    return preloaded.run(
        [*arguments], capture_output=True, text=True, timeout=patience(), stdin=subprocess.DEVNULL, env=os.environ
    )
