"""Large, strange and damaged AICF files are read or refused, in time linear in their size."""

from __future__ import annotations

import time
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lifeboat_formats.aicf.syntax.document import emit_document, find_section, parse_document
from lifeboat_formats.aicf.syntax.file_checks import check_file
from lifeboat_formats.interchange.errors import SourceRefused
from support.formats import aicf_files

_LONG_LINES = (
    *(
        " ",
        "\t",
        "|",
        "\\",
        "@",
        "=",
        '"',
        "#",
        "a",
        ":",
        "1",
        "<",
        "[",
        "\\@X",
        "\\|",
        "a=\\",
        "9|9|",
        "\x0b",
        "\u2028",
    ),
    *(" \u2028", "1|@", "@AICF_VERSION ", "version|", "- a: ", "_", "[1,", "&#1", "<a ", "->"),
)
_MANY_LINES = (
    *("\n", "\r", '"""\n', 'k="""\n', "@X\n", "1|\n", "@INSIGHTS x|y\n", "\\@X\\n", "@A_END\n", "@AICF_VERSION\n"),
    *("@LINKS a->b|c\n", "@X\n@X_END\n", "@SCHEMA\n@DATA\n", "@STATE:user\nuser:a=1\n", " \n", "@INSIGHTS\n"),
)
_STARTS = (
    "",
    "1|@X\n",
    "@X",
    "1|@AICF_VERSION\n2|version=3.1\n",
    "@X\n",
    "\\@X\\n",
    "<AICF>",
    "@AICF_VERSION",
    "@NOTES\n",
    "k=",
)


@pytest.mark.parametrize("start", ["", "1|@X\n", "\\@X\\n", "@AICF_VERSION", "k="])
def test_long_lines_are_read_in_time_that_grows_with_their_size(start: str) -> None:
    """No duration is measured: quadratic time would take minutes."""
    begun = time.process_time()
    for fill in _LONG_LINES:
        _read(start + fill * (100_000 // len(fill)))
    assert time.process_time() - begun < 15


@pytest.mark.parametrize("start", _STARTS)
def test_many_lines_are_read_in_time_that_grows_with_their_number(start: str) -> None:
    begun = time.process_time()
    for fill in _MANY_LINES:
        _read(start + fill * 1_000)
    assert time.process_time() - begun < 60


def _read(text: str) -> None:
    document = parse_document(text)
    assert emit_document(document) == text.encode()
    find_section(text, "STATE", "user")
    check_file(document, strict=True)


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(sorted(aicf_files.FILES)), st.randoms(use_true_random=False))
def test_damaged_files_are_read_or_refused(name: str, random: Random) -> None:
    data = bytearray(aicf_files.FILES[name])
    for _ in range(random.randint(1, 5)):
        at = random.randrange(len(data) + 1)
        data[at : at + random.randint(0, 9)] = random.choice(
            [b"", b"\n", b"|", b"\\", b"@", b"\xff", b'"""', b"1|", b"\0"]
        )
    try:
        document = parse_document(bytes(data))
    except SourceRefused as refused:
        assert refused.format_code == "utf8_invalid"
        return
    assert emit_document(document) == bytes(data)
    check_file(document, strict=True)
    for item in document.items():
        assert isinstance(item.value, str) and len(item.values) == len(item.cells)


def test_a_hundred_thousand_sections_are_read_and_found() -> None:
    data = b"".join(b"@STATE:s%d\nk=%d\n" % (number, number) for number in range(100_000))
    document = parse_document(data)
    assert len(document.sections) == 100_000
    section = document.section("STATE", "s99999")
    assert section is not None and section.pairs()["k"].value == "99999"
