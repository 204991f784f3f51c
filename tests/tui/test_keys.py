"""The key screen: its content, and that recovery words appear only on request."""

from __future__ import annotations

import pytest
from textual.pilot import Pilot
from textual.widgets import Button, Input

from lifeboat_core.errors import Busy, WordsError
from lifeboat_keys.errors import KeyLocked
from lifeboat_tui.link.recorded_link import RecordedLink
from lifeboat_tui.screens.keys import recovery_words_dialogs
from lifeboat_tui.screens.keys.recovery_words_dialogs import (
    ProveWordsDialog,
    RecoveryWordsScreen,
    extract_recovery_words,
)
from lifeboat_tui.widgets.question_dialogs import ConfirmDialog
from support.tui.pilots import dashboard, notes, press, recorded, settled, text_of, until

pytestmark = pytest.mark.anyio
WORDS = [f"zq{chr(97 + at)}qz" for at in range(24)]
PAGE = "THE 24 WORDS\n" + "\n".join(f"    {place:>2}. {word}" for place, word in enumerate(WORDS, 1))
OTHER = "7f00a7c5d3e9b1c2"
STATUS = {
    "state": "ok",
    "key_id": "e991f71bb1b98d908332f644efb1baf3",
    "store": "file",
    "note": "",
    "proven_at": "2026-11-02T10:00:00.000Z",
    "former": [{"key_id": "0b" * 16, "replaced_at": "2026-10-01T08:00:00.000Z", "compromised": True}],
    "machines": [
        {"id": "810d3e724e18de3e", "name": "desktop", "last_seen": "2026-11-20T08:00:00.000Z", "here": True},
        {"id": OTHER, "name": "laptop", "first_seen": "2026-10-01T08:00:00.000Z", "last_seen": None},
    ],
    "agents": [{"id": "a1", "name": "ada", "pair": "f32e98347846a921"}, {"id": "a2", "name": "rover", "pair": None}],
    "problems": [],
}


def keyed(**other: object) -> RecordedLink:
    """Return a link with a key on two machines."""
    link = recorded()
    link.answers(["keys", "status"], {**STATUS, **other})
    link.answers(["keys", "export-kit"], {}, text=PAGE)
    return link


def asked(link: RecordedLink, *words: str) -> list[tuple[tuple[str, ...], str]]:
    """Return the commands with this beginning and their input."""
    return [each for each in link.asked if each[0][: len(words)] == words]


async def type_in(pilot: Pilot[None], field: str, text: str) -> None:
    """Set the text of a field, as pasting does."""
    pilot.app.screen.query_one(field, Input).value = text
    await settled(pilot)


async def confirm(pilot: Pilot[None], phrase: str) -> None:
    """Type the phrase and confirm it."""
    await type_in(pilot, "#phrase", phrase)
    pilot.app.screen.query_one("#phrase", Input).focus()
    await press(pilot, "enter")


# What is shown ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [(80, 24), (200, 50)])
async def test_it_says_which_key_where_it_lies_and_since_when_the_words_are_proven(size: tuple[int, int]) -> None:
    async with dashboard(keyed(), size=size, screen="keys") as pilot:
        shown = text_of(pilot)
        assert "● ok  your key e991f71bb1b98d908332f644efb1baf3" in shown
        assert "a file in the Lifeboat directory that only its permissions protect" in shown
        assert "You last proved that you have the recovery words 18 days ago, on 2026-11-02" in " ".join(shown.split())


async def test_machines_agents_and_former_keys_are_told_apart_by_words() -> None:
    async with dashboard(keyed(), screen="keys") as pilot:
        shown = text_of(pilot)
        for text in ("MACHINES", "this machine", "AGENTS", "none yet", "FORMER KEYS", "not trusted"):
            assert text in shown


async def test_words_that_were_never_proven_are_a_warning_with_the_keys_that_help() -> None:
    async with dashboard(keyed(proven_at=None), screen="keys") as pilot:
        assert "You have not proved yet that you have the recovery words" in text_of(pilot)


async def test_without_a_key_every_act_says_so() -> None:
    link = keyed(key_id=None, machines=[], agents=[], former=[])
    async with dashboard(link, screen="keys") as pilot:
        assert "You have no key yet" in text_of(pilot)
        for key in "tULwpKo":
            await press(pilot, key)
            assert notes(pilot)[-1].endswith("you have no key yet")


async def test_an_answer_that_failed_is_said_with_what_helps() -> None:
    link = recorded()
    link.fails(["keys", "status"], Busy("process 4711 is at work", fix="try again in a minute"))
    async with dashboard(link, screen="keys") as pilot:
        assert "process 4711 is at work" in text_of(pilot) and "try again in a minute" in text_of(pilot)


async def test_the_detail_follows_the_cursor_and_y_copies_the_command() -> None:
    async with dashboard(keyed(), screen="keys") as pilot:
        await press(pilot, "down")
        assert "If the machine was lost, press x" in text_of(pilot)
        await press(pilot, "G")
        assert "Other people may have this key" in text_of(pilot)
        await press(pilot, "y")
        assert notes(pilot)[-1].endswith("lifeboat keys status")


# The recovery words -------------------------------------------------------------------------------------------------


async def reveal(pilot: Pilot[None]) -> None:
    await press(pilot, "w")
    await confirm(pilot, "reveal")


async def test_the_words_are_shown_only_when_that_was_typed() -> None:
    link = keyed()
    async with dashboard(link, screen="keys") as pilot:
        await press(pilot, "w")
        assert pilot.app.focused is pilot.app.screen.query_one("#cancel", Button)
        assert pilot.app.screen.query_one("#yes", Button).disabled
        await press(pilot, "enter")
        assert not asked(link, "keys", "export-kit")
        await reveal(pilot)
        shown = text_of(pilot)
        assert all(word in shown for word in WORDS)


@pytest.mark.parametrize("key", ["x", "escape", "enter", "q", "ctrl+p"])
async def test_any_key_hides_them_and_does_nothing_else(key: str) -> None:
    async with dashboard(keyed(), screen="keys") as pilot:
        await reveal(pilot)
        shown = pilot.app.screen
        await press(pilot, key)
        assert not any(word in text_of(pilot) for word in WORDS)
        assert isinstance(shown, RecoveryWordsScreen) and shown._words == []
        assert pilot.app.is_running


async def test_they_go_by_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recovery_words_dialogs, "SHOWN_FOR", 0.05)
    async with dashboard(keyed(), screen="keys") as pilot:
        await reveal(pilot)
        await until(pilot, lambda: not isinstance(pilot.app.screen, RecoveryWordsScreen))
        assert not any(word in text_of(pilot) for word in WORDS)


async def test_they_stand_in_no_notice_and_not_in_what_y_copies() -> None:
    async with dashboard(keyed(), screen="keys") as pilot:
        await reveal(pilot)
        await press(pilot, "escape", "y")
        said = " ".join(notes(pilot)) + pilot.app.clipboard
        assert not any(word in said for word in WORDS)


async def test_a_locked_key_is_opened_for_that_and_locked_again() -> None:
    link = keyed(state="needs_key", store="passphrase", note="it is encrypted with a passphrase")
    link.answers(["keys", "unlock"], STATUS)
    link.answers(["keys", "lock"], STATUS)
    async with dashboard(link, screen="keys") as pilot:
        await reveal(pilot)
        assert pilot.app.screen.query_one("#answer", Input).password
        await press(pilot, *"a boat", "enter")
        assert isinstance(pilot.app.screen, RecoveryWordsScreen)
        assert asked(link, "keys", "unlock") == [
            (("keys", "unlock", "--for", "2m", "--passphrase-stdin"), "a boat\n"),
        ]
        assert asked(link, "keys", "lock")


@pytest.mark.parametrize("key", ["w", "p", "K"])
async def test_under_readonly_the_words_stay_hidden(key: str) -> None:
    link = keyed()
    async with dashboard(link, screen="keys", readonly=True) as pilot:
        await press(pilot, key)
        assert "readonly" in notes(pilot)[-1]
        assert not isinstance(pilot.app.screen, ConfirmDialog | ProveWordsDialog)


def test_a_page_that_lacks_a_word_has_none() -> None:
    assert extract_recovery_words(PAGE) == WORDS
    assert extract_recovery_words(PAGE.replace("24. ", "")) == []


async def prove(pilot: Pilot[None]) -> None:
    await press(pilot, "p")
    screen = pilot.app.screen
    assert isinstance(screen, ProveWordsDialog)
    for place in screen.places:
        assert screen.query_one(f"#word-{place}", Input).password
        await type_in(pilot, f"#word-{place}", WORDS[place - 1])


async def test_three_words_are_asked_for_and_go_to_standard_input_only() -> None:
    link = keyed()
    link.answers(["keys", "prove"], {"key_id": STATUS["key_id"], "proven_at": "2026-11-20T08:00:00.000Z"})
    async with dashboard(link, screen="keys") as pilot:
        await prove(pilot)
        places = pilot.app.screen.places  # type: ignore[attr-defined]
        await press(pilot, "enter", "enter", "enter")
        lines = "".join(f"{place} {WORDS[place - 1]}\n" for place in places)
        assert asked(link, "keys", "prove") == [(("keys", "prove", "--answers-stdin"), lines)]
        assert notes(pilot)[-1] == "The words that you typed are correct: you have the words of your key."


async def test_after_a_wrong_word_three_others_are_asked_for() -> None:
    link = keyed()
    link.fails(["keys", "prove"], WordsError.WORDS_NOT_PROVEN("at least one of the words is wrong"))
    async with dashboard(link, screen="keys") as pilot:
        await prove(pilot)
        await press(pilot, "enter", "enter", "enter")
        assert isinstance(pilot.app.screen, ProveWordsDialog)
        assert "at least one of the words is wrong" in text_of(pilot)
        assert all(field.value == "" for field in pilot.app.screen.query(Input))
        await press(pilot, "escape")
        assert len(asked(link, "keys", "prove")) == 1


async def test_answers_that_are_missing_are_not_sent() -> None:
    link = keyed()
    async with dashboard(link, screen="keys") as pilot:
        await press(pilot, "p", "enter", "enter", "enter")
        assert "Type all three" in text_of(pilot) and not asked(link, "keys", "prove")


async def test_the_recovery_kit_goes_to_the_file_that_was_named() -> None:
    link = keyed()
    async with dashboard(link, screen="keys") as pilot:
        await press(pilot, "K")
        await type_in(pilot, "#answer", "kit.txt")
        await press(pilot, "enter")
        assert "absolute path" in text_of(pilot)
        await type_in(pilot, "#answer", "/media/stick/kit.txt")
        await press(pilot, "enter")
        assert asked(link, "keys", "export-kit")[-1][0] == ("keys", "export-kit", "-o", "/media/stick/kit.txt")
        assert "print it, then delete it" in notes(pilot)[-1]


# Locking and testing ------------------------------------------------------------------------------------------------


async def test_a_wrapped_key_is_opened_for_a_time_with_its_passphrase() -> None:
    link = keyed(state="needs_key", store="passphrase")
    link.answers(["keys", "unlock"], {**STATUS, "note": "key: open until 18:00"})
    async with dashboard(link, screen="keys") as pilot:
        await press(pilot, "U", "enter", *"a boat", "enter")
        assert asked(link, "keys", "unlock") == [(("keys", "unlock", "--for", "8h", "--passphrase-stdin"), "a boat\n")]
        assert notes(pilot)[-1] == "key: open until 18:00"


async def test_the_keyring_of_the_desktop_is_asked_without_a_passphrase() -> None:
    link = keyed(state="needs_key", store="keyring")
    link.answers(["keys", "unlock"], {**STATUS, "note": "key: in the keyring"})
    async with dashboard(link, screen="keys") as pilot:
        await press(pilot, "U")
        assert asked(link, "keys", "unlock") == [(("keys", "unlock"), "")]
        assert notes(pilot)[-1] == "key: in the keyring"


async def test_a_wrong_passphrase_is_said_and_not_repeated() -> None:
    link = keyed(state="needs_key", store="passphrase")
    link.fails(["keys", "unlock"], KeyLocked("the passphrase is another one"))
    async with dashboard(link, screen="keys") as pilot:
        await press(pilot, "U", "enter", *"a boat", "enter")
        assert "the passphrase is another one" in text_of(pilot)
        assert "a boat" not in text_of(pilot) + " ".join(notes(pilot))


async def test_t_says_whether_the_key_can_be_used_and_l_locks_it() -> None:
    link = keyed(state="needs_key", note="it is encrypted with a passphrase")
    link.answers(["keys", "lock"], {**STATUS, "note": "key: locked"})
    async with dashboard(link, screen="keys") as pilot:
        await press(pilot, "t")
        assert notes(pilot)[-1] == (
            "The key is not usable: it is encrypted with a passphrase; press U to unlock the key"
        )
        await press(pilot, "L")
        assert notes(pilot)[-1] == "key: locked"


# Replacing the key --------------------------------------------------------------------------------------------------

ROTATED = {
    "key_id": "ff" * 16,
    "former": STATUS["key_id"],
    "compromised": True,
    "reissue": [{"agent": "ada", "service": "telegram", "credential_type": "bot_token", "label": "botToken"}],
    "revoked": {"id": OTHER, "name": "laptop"},
    "remotes": [{"name": "home"}],
    "unfinished": ["home: it does not answer"],
    "words_to": "/media/stick/words",
}


async def test_a_key_that_others_may_have_is_replaced_and_what_is_to_be_issued_anew_is_listed() -> None:
    link = keyed()
    link.answers(["keys", "rotate"], ROTATED, status=1)
    async with dashboard(link, screen="keys") as pilot:
        await press(pilot, "o", "down", "enter")
        await type_in(pilot, "#answer", "/media/stick/words")
        await press(pilot, "enter")
        assert "still decrypt old copies" in text_of(pilot) and not asked(link, "keys", "rotate")
        await confirm(pilot, "replace the key")
        words = ("keys", "rotate", "--compromised", "--words-to", "/media/stick/words", "--no-prove", "--yes")
        assert asked(link, "keys", "rotate") == [(words, "")]
        shown = " ".join(text_of(pilot).replace("│", " ").split())
        assert "telegram bot_token botToken" in shown and "home: it does not answer" in shown


async def test_a_lost_machine_is_chosen_by_the_cursor_and_its_name_typed() -> None:
    link = keyed()
    link.answers(["keys", "rotate"], ROTATED)
    async with dashboard(link, screen="keys") as pilot:
        await press(pilot, "x")
        assert "this machine cannot be marked as lost" in notes(pilot)[-1]
        await press(pilot, "down", "x")
        await type_in(pilot, "#answer", "/media/stick/words")
        await press(pilot, "enter")
        await confirm(pilot, "laptop")
        assert asked(link, "keys", "rotate")[0][0][:4] == ("keys", "rotate", "--lost", OTHER)
        assert "The token of the machine laptop for the remote home was revoked" in text_of(pilot)


async def test_a_key_of_another_machine_is_taken_by_its_words_and_both_secrets_go_to_standard_input() -> None:
    link = keyed(store="passphrase")
    link.answers(["keys", "rotate"], {**ROTATED, "words_to": None})
    async with dashboard(link, screen="keys") as pilot:
        await press(pilot, "o", "G", "enter", *"some", "enter")
        assert "you typed 1 word;" in text_of(pilot)
        await type_in(pilot, "#answer", " ".join(WORDS))
        await press(pilot, "enter")
        await type_in(pilot, "#answer", "a boat")
        await press(pilot, "enter")
        await confirm(pilot, "replace the key")
        words = ("keys", "rotate", "--words-from", "-", "--yes", "--passphrase-stdin")
        assert asked(link, "keys", "rotate") == [(words, f"a boat\n{' '.join(WORDS)}\n")]


async def test_what_keeps_a_key_from_being_replaced_is_said() -> None:
    link = keyed()
    link.fails(["keys", "rotate"], Busy("process 4711 is at work"))
    async with dashboard(link, screen="keys") as pilot:
        await press(pilot, "o", "enter", "enter")
        await confirm(pilot, "replace the key")
        assert "process 4711 is at work" in text_of(pilot)


async def test_a_machine_is_called_something_else() -> None:
    link = keyed()
    async with dashboard(link, screen="keys") as pilot:
        await press(pilot, "down", "m")
        await type_in(pilot, "#answer", "old laptop")
        await press(pilot, "enter")
        assert asked(link, "keys", "rename-machine") == [(("keys", "rename-machine", OTHER, "old laptop"), "")]


@pytest.mark.parametrize("key", ["U", "L", "o", "x", "m"])
async def test_what_changes_something_is_refused_under_readonly(key: str) -> None:
    link = keyed()
    async with dashboard(link, screen="keys", readonly=True) as pilot:
        await press(pilot, "down", key)
        assert "--readonly" in notes(pilot)[-1]
