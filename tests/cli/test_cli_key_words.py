"""The words of a key on a real terminal."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from lifeboat_core.home.context import Context
from lifeboat_keys.pairs.user_key import UserKey
from support.adapters.openclaw_workspaces import make_state_dir
from support.cli.cli_client import run

if sys.platform == "win32":
    pytest.skip("there are no pseudo-terminals on Windows", allow_module_level=True)

from support.terminal import WITH_LIGHT_WRAPPING, Terminal

KEY = UserKey(bytes(range(32)))
PASSPHRASE = "a boat under the bridge"


@pytest.fixture
def words_file(tmp_path: Path) -> Path:
    file = tmp_path / "words"
    file.write_text(" ".join(KEY.words()))
    return file


@pytest.fixture
def recovered(words_file: Path) -> None:
    run("keys", "recover", "--words-from", words_file)


def _shown(terminal: Terminal) -> list[str]:
    """Return the words on the screen, once all are there."""
    numbered = re.findall(r"(\d+)\. ([a-z]+)", terminal.until("Press Enter"))
    terminal.type("")
    assert [int(number) for number, _ in numbered] == list(range(1, 25))
    return [word for _, word in numbered]


def _answer(terminal: Terminal, words: list[str]) -> None:
    """Type the three words that are asked for."""
    for _ in range(3):
        place = int(terminal.wait_for(r"Word (\d+): ")[1])
        terminal.type(words[place - 1])


def _proven_at() -> str | None:
    found: str | None = run("keys", "status")["proven_at"]
    return found


def test_init_shows_the_words_once_has_three_proven_and_leaves_none_on_the_screen() -> None:
    with Terminal("keys", "init") as terminal:
        words = _shown(terminal)
        _answer(terminal, words)
        assert terminal.ended() == 0
        left = set(re.findall("[a-z]+", terminal.left))
    key = Context.open().keys().user_key()
    assert key.words() == words and _proven_at() is not None
    assert key.key_id in terminal.left
    assert len(set(words) & left) <= 4, "only words that any message has"


def test_a_wrong_word_is_asked_for_again_and_then_all_are_shown_again() -> None:
    with Terminal("keys", "init") as terminal:
        words = _shown(terminal)
        for _ in range(3):
            place = terminal.wait_for(r"Word (\d+): ")[1]
            terminal.type("zoo" if words[int(place) - 1] != "zoo" else "able")
            terminal.wait_for(f"this is not word {place}")
        assert _shown(terminal) == words
        terminal.wait_for(r"Word (\d+): ")
        terminal.type("wrong")
        _answer(terminal, words)
        assert terminal.ended() == 0
    assert _proven_at() is not None


def test_ctrl_c_leaves_the_key_and_says_that_its_words_were_never_proven() -> None:
    with Terminal("keys", "init") as terminal:
        terminal.wait_for("Press Enter")
        assert terminal.interrupted() == 130
        assert "you have not proved yet that you have" in terminal.left
    assert run("keys", "status")["state"] == "ok" and _proven_at() is None


def test_init_shows_the_words_of_a_key_that_an_agent_brought() -> None:
    Context.open().keys().ensure()
    with Terminal("keys", "init", "--no-prove") as terminal:
        assert _shown(terminal) == Context.open().keys().user_key().words()
        assert terminal.ended() == 0
    assert _proven_at() is None


def test_init_shows_nothing_of_a_key_whose_words_were_proven(recovered: None) -> None:
    with Terminal("keys", "init") as terminal:
        assert terminal.ended() == 0
        assert "keys prove" in " ".join(terminal.said.split()) and "export-kit" in terminal.said
        assert not re.search(r"24\. [a-z]+", terminal.said)


def test_on_a_narrow_terminal_no_line_of_words_is_broken() -> None:
    with Terminal("keys", "init", "--no-prove", COLUMNS="40") as terminal:
        shown = terminal.until("Press Enter")
        terminal.type("")
        assert terminal.ended() == 0
    lines = [line.strip() for line in shown.splitlines() if re.search(r"\d+\. [a-z]", line)]
    assert len(lines) == 12 and max(map(len, lines)) <= 40


def test_a_terminal_that_cannot_take_words_back_is_said_to() -> None:
    with Terminal("keys", "init", "--no-prove", term="dumb") as terminal:
        assert _shown(terminal)
        assert terminal.ended() == 0
        assert "clear the screen yourself" in terminal.said


def test_words_in_a_file_are_proven_from_the_file(tmp_path: Path) -> None:
    with Terminal("keys", "init", "--words-to", tmp_path / "new") as terminal:
        terminal.wait_for("three of the words")
        words = (tmp_path / "new").read_text().split()
        _answer(terminal, words)
        assert terminal.ended() == 0
        assert not re.search(r"24\. [a-z]+", terminal.said)
    assert _proven_at() is not None


def test_prove_asks_for_three_words(recovered: None) -> None:
    before = _proven_at()
    with Terminal("keys", "prove") as terminal:
        _answer(terminal, KEY.words())
        assert terminal.ended() == 0
    assert _proven_at() != before


def test_three_wrong_answers_prove_nothing(recovered: None) -> None:
    before = _proven_at()
    with Terminal("keys", "prove") as terminal:
        for _ in range(3):
            terminal.wait_for(r"Word \d+: ")
            terminal.type("wrong")
        assert terminal.ended() == 1
    assert _proven_at() == before


def test_a_key_that_is_away_is_proven_with_all_its_words(recovered: None, isolated_home: Path) -> None:
    (isolated_home / "lifeboat" / "keys" / "user.key").unlink()
    before = _proven_at()
    with Terminal("keys", "prove") as terminal:
        terminal.wait_for("Word 1: ")
        terminal.type(" ".join(KEY.words()))
        assert terminal.ended() == 0
    assert _proven_at() != before


def test_words_are_typed_one_by_one_and_a_misspelt_one_is_offered_what_is_near() -> None:
    words = KEY.words()
    with Terminal("keys", "recover") as terminal:
        terminal.wait_for("Word 1: ")
        terminal.type(f"1. {words[0].upper()}")
        terminal.wait_for("Word 2: ")
        terminal.type(words[1][:-1] + "qq")
        terminal.wait_for(f"word 2 is not in the list of recovery words.*{words[1]}")
        terminal.wait_for("Word 2: ")
        terminal.type(" ".join(words[1:]))
        assert terminal.ended() == 0
        left = set(re.findall("[a-z]+", terminal.left))
    assert Context.open().keys().user_key().public == KEY.public
    assert len(set(words) & left) <= 4, "only words that any message has"


def test_words_that_are_together_no_key_can_be_corrected_by_number() -> None:
    words = KEY.words()
    typed = [*words[:4], "zoo", *words[5:]]
    with Terminal("keys", "recover") as terminal:
        terminal.wait_for("Word 1: ")
        terminal.type(" ".join(typed))
        terminal.wait_for("the checksum does not match")
        terminal.wait_for("Which word is wrong")
        terminal.type(f"5 {words[4]}")
        assert terminal.ended() == 0
    assert Context.open().keys().public == KEY.public


def test_another_key_typed_into_a_home_is_refused(recovered: None) -> None:
    other = UserKey(bytes(32))
    with Terminal("keys", "recover") as terminal:
        terminal.wait_for("Word 1: ")
        terminal.type(" ".join(other.words()))
        assert terminal.ended() == 3
        assert KEY.key_id in terminal.left and other.key_id in terminal.left


def test_a_new_passphrase_is_typed_twice_and_never_shown() -> None:
    with Terminal("keys", "init", "--store", "passphrase", "--no-prove") as terminal:
        terminal.wait_for("New passphrase ")
        terminal.type("short")
        for question in (r"New passphrase \(at least 8 characters\): ", "Repeat for confirmation: "):
            terminal.wait_for(question)
            terminal.type(PASSPHRASE)
        _shown(terminal)
        assert terminal.ended() == 0
        assert PASSPHRASE not in terminal.said
    found = run("keys", "status")
    assert (found["store"], found["state"]) == ("passphrase", "needs_key")
    with Terminal("keys", "export-kit", "-o", Path.home() / "kit") as terminal:
        terminal.wait_for("Passphrase: ")
        terminal.type(PASSPHRASE)
        assert terminal.ended() == 0
        assert PASSPHRASE not in terminal.said


@pytest.mark.usefixtures("light_wrapping")
def test_a_passphrase_that_was_forgotten_is_replaced_by_whoever_has_the_words(
    words_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LIFEBOAT_PASSPHRASE", "forgotten tomorrow")
    run("keys", "recover", "--words-from", words_file, "--store", "passphrase")
    monkeypatch.delenv("LIFEBOAT_PASSPHRASE")
    with Terminal("keys", "recover", "--words-from", words_file, program=WITH_LIGHT_WRAPPING) as terminal:
        for question in (r"New passphrase \(at least 8 characters\): ", "Repeat for confirmation: "):
            terminal.wait_for(question)
            terminal.type(PASSPHRASE)
        assert terminal.ended() == 0
    monkeypatch.setenv("LIFEBOAT_PASSPHRASE", PASSPHRASE)
    assert run("keys", "status")["state"] == "ok"


@pytest.mark.usefixtures("light_wrapping")
def test_a_restore_with_credentials_asks_for_the_passphrase_of_a_locked_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = make_state_dir(Path.home() / ".openclaw")
    variables = state.workspace / ".env"
    variables.write_text("HARBOUR_API_KEY=sk-fake-harbour-0123456789abcdef\n")
    monkeypatch.setenv("LIFEBOAT_PASSPHRASE", PASSPHRASE)
    run("keys", "init", "--store", "passphrase", "--words-to", tmp_path / "words", "--no-prove")
    monkeypatch.delenv("LIFEBOAT_PASSPHRASE")
    run("agents", "add", state.workspace)
    written = variables.read_bytes()
    run("alf", "export", "openclaw", state.workspace, "-o", tmp_path / "ada.alf")
    places = (
        ("restore", state.workspace, "--to"),
        ("alf", "import", tmp_path / "ada.alf", "--runtime", "openclaw", "--to"),
    )
    for number, command in enumerate(places):
        target = tmp_path / f"back-{number}"
        with Terminal(*command, target, "--with-credentials") as terminal:
            terminal.wait_for("Passphrase: ")
            terminal.type(PASSPHRASE)
            assert terminal.ended() == 0, terminal.said
            assert PASSPHRASE not in terminal.said
        assert (target / ".env").read_bytes() == written
