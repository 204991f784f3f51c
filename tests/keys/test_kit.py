"""The recovery kit: one page from which the key is recovered however it was copied."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
import segno
from hypothesis import given
from hypothesis import strategies as st

from lifeboat_keys.errors import BadWords, KeysError
from lifeboat_keys.pairs.user_key import UserKey
from lifeboat_keys.recovery import recovery_kit
from lifeboat_keys.recovery.recovery_kit import KitRemote
from support.alf.raising import raises_code

DAY = "2026-11-20"
KEY = UserKey(bytes(range(32)))
LONGEST = UserKey.from_words(["acoustic"] * 23 + ["decrease"])
"""A key whose words all have eight letters, the maximum."""
HOME = KitRemote("home", "https://boat.example.com/ada", "sha256:0123", "log in there and choose New token")
DARK = {" ": (False, False), "▀": (True, False), "▄": (False, True), "█": (True, True)}

keys = st.binary(min_size=32, max_size=32).map(UserKey)


def copied(page: str) -> str:
    """Return the page as a user may copy it: without the QR code, spaces trimmed and collapsed, quoted."""
    lines = page.split(recovery_kit.TITLE)[1].split("THE SAME WORDS")[0].splitlines()
    return "\n".join("> " + re.sub(" +", " ", line.strip()) for line in lines)


@given(keys)
def test_the_key_comes_back_from_its_page(key: UserKey) -> None:
    page = recovery_kit.render_kit(key, DAY, [HOME])
    for text in (page, page.replace("\n", "\r\n"), copied(page), page.upper(), page.split("WHAT THE WORDS OPEN")[0]):
        assert recovery_kit.read_kit(text).public == key.public


@given(keys)
def test_it_is_one_page(key: UserKey) -> None:
    lines = recovery_kit.render_kit(key, DAY).splitlines()
    assert len(lines) <= 62 and max(map(len, lines)) <= recovery_kit.WIDTH


def test_the_longest_words_fit_as_well() -> None:
    lines = recovery_kit.render_kit(LONGEST, DAY).splitlines()
    assert len(lines) <= 62 and max(map(len, lines)) <= recovery_kit.WIDTH


def test_it_says_whose_it_is_and_where_the_copies_are() -> None:
    page = recovery_kit.render_kit(KEY, DAY, [HOME])
    for text in (KEY.key_id, DAY, HOME.name, HOME.url, HOME.pin, HOME.token, "lifeboat setup --kit", "ANYONE WHO HAS"):
        assert text in page
    assert "No remote is configured" in recovery_kit.render_kit(KEY, DAY)


@pytest.mark.parametrize("key", [KEY, LONGEST], ids=["ordinary", "longest"])
def test_what_a_scanner_sees_is_the_code_of_the_words_with_its_quiet_zone(key: UserKey) -> None:
    code = segno.make_qr(" ".join(key.words()).upper(), error="l")
    size = code.symbol_size()[0]
    lines = recovery_kit.render_kit(key, DAY).split("dark on light\n")[1].split("\n")
    seen = [[DARK[char][half] for char in line.ljust(size)] for line in lines for half in (0, 1)]
    wanted = [[bool(module) for module in row] for row in code.matrix_iter(border=4)]
    assert seen[:size] == wanted
    assert not any(dark for row in seen[size:] for dark in row)


def test_a_page_that_lacks_words_says_which() -> None:
    page = recovery_kit.render_kit(KEY, DAY)
    torn = page.replace(f" 7. {KEY.words()[6]}", "").replace(f"20. {KEY.words()[19]}", "")
    with raises_code(KeysError.NOT_A_KIT, match="number 7, 20"):
        recovery_kit.read_kit(torn)
    with raises_code(KeysError.NOT_A_KIT):
        recovery_kit.read_kit("A letter.\n")


def test_a_page_with_the_words_of_another_key_is_refused() -> None:
    other = UserKey(bytes(32))
    page = recovery_kit.render_kit(KEY, DAY).replace(KEY.key_id, other.key_id)
    with raises_code(KeysError.NOT_A_KIT, match=f"{other.key_id}.*{KEY.key_id}"):
        recovery_kit.read_kit(page)


def test_a_wrong_word_is_named_by_its_number_and_not_repeated() -> None:
    page = recovery_kit.render_kit(KEY, DAY).replace(f" 3. {KEY.words()[2]}", " 3. hunterxx")
    with pytest.raises(BadWords, match=r"\(positions\): 3") as caught:
        recovery_kit.read_kit(page)
    assert "hunter" not in str(caught.value)


STICK = KitRemote("stick", "file:///media/ada/stick", id="0a1b", sealed=True, optional=True)
READER = replace(HOME, id="9f", access="lifeboat+https://lb_abcdefgh_secret@boat.example.com/ada/?pin=0123")


def test_the_remotes_come_back_from_their_page_however_it_was_copied() -> None:
    page = recovery_kit.render_kit(KEY, DAY, [READER, STICK])
    for text in (page, page.replace("\n", "\r\n"), copied(page)):
        kit = recovery_kit.read_whole_kit(text)
        assert kit.remotes == (replace(READER, token=""), replace(STICK, token="")) and kit.is_checked
    assert "lb_abcdefgh" not in repr(kit)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("https://boat.example.com/ada", "https://evil.example.com/ada"),
        ("file:///media/ada/stick", "file:///media/ada/other"),
        ("sealed, optional", "optional"),
        ("lb_abcdefgh_secret", "lb_abcdefgh_forged"),
        ("stick: file:///media/ada/stick\n", ""),
        ("id: 0a1b", "id: 0a1c"),
    ],
)
def test_a_page_with_other_remotes_than_it_was_written_with_is_refused(before: str, after: str) -> None:
    page = recovery_kit.render_kit(KEY, DAY, [READER, STICK])
    assert before in page
    with raises_code(KeysError.NOT_A_KIT, match="changed or truncated"):
        recovery_kit.read_whole_kit(page.replace(before, after))
    assert recovery_kit.read_kit(page.replace(before, after)).public == KEY.public, "the words are intact"


def test_a_page_without_its_check_says_that_it_proves_nothing() -> None:
    page = recovery_kit.render_kit(KEY, DAY, [STICK])
    kit = recovery_kit.read_whole_kit("".join(line for line in page.splitlines(True) if "Check:" not in line))
    assert not kit.is_checked and [one.url for one in kit.remotes] == [STICK.url]
    assert recovery_kit.read_whole_kit(recovery_kit.render_kit(KEY, DAY)).remotes == ()


@pytest.mark.parametrize("filler", ["\n", " ", "\t", "> ", "a: b" + " " * 99])
def test_a_page_full_of_blanks_is_read_at_once(filler: str) -> None:
    """A pattern that tries every way to divide blanks would take hours for these."""
    page = recovery_kit.render_kit(KEY, DAY, [STICK]).replace("Check:", f"x: y{filler * 300_000}z\nCheck:")
    assert (
        recovery_kit.read_whole_kit(page).remotes
        == recovery_kit.read_whole_kit(recovery_kit.render_kit(KEY, DAY, [STICK])).remotes
    )
