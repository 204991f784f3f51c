"""The cleaning step: findings are counted, redacted on request, and secrets stop an export."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lifeboat_formats.interchange import detectors
from lifeboat_formats.interchange.cleaning import OPTIONS, Cleaner
from lifeboat_formats.interchange.detectors import KINDS, WordList
from lifeboat_formats.interchange.errors import InterchangeError, SanitizerFailed, SecretsFound

_KEY = "sk-" + "a1" * 20
_KNOWN = "tide-table-of-the-north-pier"
_NUMBERS = [
    ("+1 212 555 0123", "phone"),
    ("1-212-555-0123", "phone"),
    ("(212) 555-0123", "phone"),
    ("212.555.0123", "phone"),
    ("+12125550123", "phone"),
    ("+49 30 1234567", "phone"),
    ("+44 (0)20 7946 0958", "phone"),
    ("+33.1.23.45.67.89", "phone"),
    ("0049 30 1234567", "phone"),
    ("123-45-6789", "ssn"),
    ("123 45 6789", "ssn"),
    ("4111 1111 1111 1111", "card"),
    ("4111-1111-1111-1111", "card"),
    ("4111111111111111", "card"),
    ("3782 822463 10005", "card"),
    ("5555555555554444", "card"),
]
_ADDRESSES = [
    "ada@example.com",
    "ada.l+news@mail.example.co.uk",
    "o'brien@example.org",
    "käthe@bücher.example",
    "ada@xn--bcher-kva.example",
]
_HARMLESS = [
    "version 1.2.3-4567, 2026-11-22T23:02:59.123456789Z, 20261122",
    "019d4860-d9c0-7616-9716-0d8801123e99 and 12345678-1234-1234-1234-123456789012",
    "sha256:3875aaa120bc9065b67477b5fa1c22e6038e78fb31f08dc41d33de5d5d7418ac",
    "+1500000 lines, +1.2345678 points, -3 +12345678",
    "192.168.100.200:8080 and 10.0.0.1/24",
    "1763852579123456789 ns, 1763852579123 ms, 4111 1111 1111 1112",
    "pi is 3.14159265358979, 000-12-3456, 666-12-3456, 123-00-4567, 123-45-6789-1",
    "the phone, 2026-11-22 10:00, rang; tell 12345 of them; 17 555 0123",
    "@decorator, a@b, user@localhost, foo@1.2.3, @@ -1,3 +1,9 @@",
    "[redacted:email] and [redacted:phone] stay",
]


def _kinds(text: str) -> dict[str, int]:
    cleaner = Cleaner()
    cleaner.clean(text)
    return {kind: count for kind, count in cleaner.counts.items() if count}


@pytest.mark.parametrize(("number", "kind"), _NUMBERS)
@pytest.mark.parametrize("around", ["%s", "call %s, please.", "(%s)\n", "日本%s。", "tel:%s;"])
def test_numbers_of_people_are_found_and_redacted_whole(number: str, kind: str, around: str) -> None:
    cleaner = Cleaner(redacts=True)
    assert cleaner.clean(around % number) == around % f"[redacted:{kind}]"
    assert cleaner.counts == {kind: 1}


@pytest.mark.parametrize("address", _ADDRESSES)
def test_mail_addresses_are_found_and_redacted_whole(address: str) -> None:
    assert (
        Cleaner(redacts=True).clean(f"Mail <{address}>, or {address}.")
        == "Mail <[redacted:email]>, or [redacted:email]."
    )


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("phone: 030/1234567", "phone: [redacted:phone]"),
        ("Tel. 5550123456", "Tel. [redacted:phone]"),
        ("her SSN is 123456789.", "her SSN is [redacted:ssn]."),
        ("Social Security number: 123456789", "Social Security number: [redacted:ssn]"),
    ],
)
def test_a_bare_number_is_what_the_text_says_it_is(text: str, result: str) -> None:
    assert Cleaner(redacts=True).clean(text) == result


@pytest.mark.parametrize("text", _HARMLESS)
def test_versions_dates_digests_and_amounts_are_no_numbers_of_people(text: str) -> None:
    assert _kinds(text) == {}


def test_without_redact_texts_stay_and_are_counted_all_the_same() -> None:
    text = "ada@example.com, (212) 555-0123 and bob@example.com"
    counting, redacting = Cleaner(), Cleaner(redacts=True)
    assert counting.clean(text) == text
    assert redacting.clean(text) == "[redacted:email], [redacted:phone] and [redacted:email]"
    assert counting.figures() == redacting.figures()
    assert counting.figures() == {f"found_{kind}": {"email": 2, "phone": 1}.get(kind, 0) for kind in KINDS}


def test_what_was_found_is_told_by_pattern_and_never_by_content() -> None:
    cleaned = Cleaner(redacts=True).cleaned("ada@example.com, bob@example.com, +49 30 1234567")
    assert cleaned.is_transformed
    assert cleaned.found == {"email": 2, "phone_international": 1}
    assert not Cleaner().cleaned("ada@example.com").is_transformed


def test_words_of_the_user_are_found_whole_in_any_case_and_over_line_breaks(tmp_path: Path) -> None:
    listed = tmp_path / "names.txt"
    listed.write_text("\ufeffAda Lovelace\n\n  Straße 5 \n@ada\nKäthe\nbarge\n", "utf-8")
    cleaner = Cleaner.of({"redact": True, "detect": str(listed), "allow-secrets": False})
    for text, result in [
        ("ADA\n  lovelace, here", "[redacted:listed], here"),
        ("in der STRASSE 5", "in der [redacted:listed]"),
        ("ask @Ada, not ada", "ask [redacted:listed], not ada"),
        ("Ka\u0308the and k\u00e4the", "[redacted:listed] and [redacted:listed]"),
        ("embarge barges barge_2", "embarge barges [redacted:listed]_2"),
        ("Ada, Lovelace", "Ada, Lovelace"),
    ]:
        assert cleaner.clean(text) == result
    assert cleaner.counts["listed"] == 6


@pytest.mark.parametrize(("content", "named"), [(b"ada\n--\n", "line 2"), (b"\xff\xfe\x00", "names.txt")])
def test_a_list_that_cannot_be_used_is_refused_with_its_place(tmp_path: Path, content: bytes, named: str) -> None:
    listed = tmp_path / "names.txt"
    listed.write_bytes(content)
    with pytest.raises(InterchangeError, match=named):
        Cleaner.of({"detect": str(listed)})
    with pytest.raises(InterchangeError, match=r"absent\.txt"):
        Cleaner.of({"detect": str(tmp_path / "absent.txt")})


@pytest.mark.parametrize("secret", [_KEY, _KNOWN, "password: q7Zt9Xw2Kp4Rv8Lm"])
def test_a_secret_stops_the_conversion_and_is_not_in_the_error(secret: str) -> None:
    cleaner = Cleaner.of({}, known_secrets=[_KNOWN])
    with pytest.raises(SecretsFound) as caught:
        cleaner.clean(f"é: {secret}", where="memory 7")
    assert "memory 7" in caught.value.message
    assert secret not in str(caught.value)
    assert caught.value.__cause__ is None


def test_a_secret_is_redacted_where_that_was_asked_for() -> None:
    cleaner = Cleaner.of({"redact": True}, known_secrets=[_KNOWN])
    assert cleaner.clean(f"é {_KEY} ü {_KNOWN} ö") == "é [redacted:secret] ü [redacted:secret] ö"
    assert cleaner.counts == {"secret": 2}


def test_a_secret_that_the_user_lets_go_is_counted_and_stays_also_where_the_rest_is_redacted() -> None:
    text = f"{_KEY} of ada@example.com"
    cleaner = Cleaner(allows_secrets=True)
    assert cleaner.clean(text) == text
    assert cleaner.counts == {"secret": 1, "email": 1}
    assert Cleaner(allows_secrets=True, redacts=True).clean(text) == f"{_KEY} of [redacted:email]"


def test_a_line_that_a_capture_lets_pass_passes_here_too() -> None:
    assert _kinds(f"{_KEY} lifeboat:allow") == {}


@pytest.mark.parametrize("detector", ["find_emails", "find_numbers", "find_secrets"])
def test_when_a_detector_fails_no_text_leaves(detector: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> list[detectors.DetectedSpan]:
        raise ValueError("the diary of ada@example.com")

    monkeypatch.setattr(detectors, detector, fails)
    for cleaner in (Cleaner(), Cleaner(redacts=True)):
        with pytest.raises(SanitizerFailed) as caught:
            cleaner.clean("the diary of ada@example.com", where="memory 7")
        assert "memory 7" in caught.value.message
        assert "ada" not in caught.value.message
        assert caught.value.__cause__ is None
        assert not cleaner.counts


def test_a_cleaning_without_an_end_refuses_the_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(detectors, "find_emails", lambda _: [detectors.DetectedSpan(0, 0, "email", "email")])
    with pytest.raises(SanitizerFailed):
        Cleaner(redacts=True).clean("x")


def test_values_are_cleaned_to_their_names_and_leaves_and_no_deeper_than_is_safe() -> None:
    value = {"ada@example.com": [1, None, {"to": ("x bob@example.com",)}], "n": 1.5}
    cleaned = Cleaner(redacts=True).clean_value(value)
    assert cleaned == {"[redacted:email]": [1, None, {"to": ["x [redacted:email]"]}], "n": 1.5}
    deep: object = "x"
    for _ in range(10_000):
        deep = [deep]
    with pytest.raises(SanitizerFailed):
        Cleaner().clean_value(deep, where="memory 7")


def test_options_are_of_writing_and_short_enough_for_help() -> None:
    assert {option.name for option in OPTIONS} == {"redact", "detect", "allow-secrets"}
    assert all(option.writes and not option.reads and len(option.help) <= 62 for option in OPTIONS)


_PIECES = st.one_of(
    st.sampled_from([*_ADDRESSES, *[number for number, _ in _NUMBERS], *_HARMLESS, _KEY, _KNOWN, "Ada Lovelace"]),
    st.sampled_from(
        ["[redacted:email]", "[redacted:", "]", "@", "phone ", "ssn ", "password: ", " ", "-", ".", "+", "\n"]
    ),
    st.text(alphabet="0123456789-+() .@a", max_size=20),
    st.text(max_size=12),
)
_TEXTS = st.lists(_PIECES, max_size=10).map("".join)


@given(_TEXTS)
@settings(max_examples=300, deadline=None)
def test_nothing_that_a_detector_finds_survives_and_cleaning_twice_is_cleaning_once(text: str) -> None:
    def cleaner(*, redacts: bool) -> Cleaner:
        made = Cleaner.of({"redact": redacts}, known_secrets=[_KNOWN])
        made.words = WordList(["Ada Lovelace", "redacted", "email"])
        return made

    once = cleaner(redacts=True)
    clear = once.clean(text)
    again = cleaner(redacts=True)
    assert again.clean(clear) == clear
    assert not again.counts
    assert sum(once.counts.values()) >= clear.count("[redacted:") - text.count("[redacted:")
    assert _KNOWN not in clear  # one that is known is found inside of words too
    # Without `--redact` the same is found, and nothing that looks like a secret passes.
    plain = cleaner(redacts=False)
    try:
        assert plain.clean(text) == text
    except SecretsFound:
        assert once.counts["secret"]
    else:
        assert plain.counts == once.counts


# fmt: off
_REPEATED = (
    "a", "a@", "@a.", "1 ", "1-", "0", "4", "+", "+4 ", "(212) ", "phone 1", "ssn ", "00 1", "a.b@a.", "x@y.example ",
    "[redacted:email]", "[redacted:", "Ada ", "password: ", "é", "3 ", "é@ü.example ", "sk-", "://a:", "\x00", "\n1",
)
# fmt: on


@pytest.mark.parametrize("piece", _REPEATED)
def test_a_text_of_a_megabyte_that_is_hard_to_search_comes_to_an_end(piece: str) -> None:
    """Quadratic time would run for hours."""
    text = piece * (1_000_000 // len(piece))
    cleaner = Cleaner(redacts=True, words=WordList(["Ada Lovelace", "Ada Ada Ada"]))
    clear = cleaner.clean(text)
    assert (clear == text) == (not cleaner.counts)


def test_texts_that_come_once_do_not_keep_those_that_come_again_from_being_remembered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looked, find = Counter[str](), Cleaner._find
    monkeypatch.setattr(Cleaner, "_find", lambda self, text: looked.update([text]) or find(self, text))
    cleaner = Cleaner()
    for number in range(10_000):
        cleaner.clean(f"once {number}")
    for _ in range(100):
        cleaner.clean("again")
    assert looked["again"] == 1 and len(looked) == 10_001
