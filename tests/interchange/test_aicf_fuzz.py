"""Hostile AICF files: large, strange, damaged; they are read or refused, in time that grows with their size."""

from __future__ import annotations

import time
from random import Random

import aicf_files
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lifeboat_adapters.aicf.checking import check
from lifeboat_adapters.aicf.document import emit, find_section, parse
from lifeboat_adapters.interchange.errors import SourceRefused

pytestmark = pytest.mark.interchange

SIZE = 200_000
_FILLS = (
    *(
        " ",
        "\t",
        "\n",
        "\r",
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
        '"""\n',
        'k="""\n',
        "@X\n",
        "1|\n",
    ),
    *(
        "@INSIGHTS x|y\n",
        "\\@X\\n",
        "\\@X",
        "@A_END\n",
        " \u2028",
        "@AICF_VERSION\n",
        "@AICF_VERSION ",
        "1|@",
        "\\|",
        "a=\\",
    ),
    *(
        "@LINKS a->b|c\n",
        "@X\n@X_END\n",
        "@SCHEMA\n@DATA\n",
        "version|",
        "- a: ",
        "_",
        "9|9|",
        "\x0b",
        "[1,",
        "@STATE:user\nuser:a=1\n",
    ),
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


@pytest.mark.parametrize("start", _STARTS)
def test_long_repetitions_are_read_in_time_that_grows_with_their_size(start: str) -> None:
    """Far from a measurement: what took the square of the size would take minutes."""
    begun = time.process_time()
    for fill in _FILLS:
        text = start + fill * (SIZE // len(fill))
        document = parse(text)
        assert emit(document) == text.encode()
        find_section(text, "STATE", "user")
        check(document, strict=True)
    assert time.process_time() - begun < 120


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
        document = parse(bytes(data))
    except SourceRefused as refused:
        assert refused.format_code == "utf8_invalid"
        return
    assert emit(document) == bytes(data)
    check(document, strict=True)
    for item in document.items():
        assert isinstance(item.value, str) and len(item.values) == len(item.cells)


def test_a_hundred_thousand_sections_are_read_and_found() -> None:
    data = b"".join(b"@STATE:s%d\nk=%d\n" % (number, number) for number in range(100_000))
    document = parse(data)
    assert len(document.sections) == 100_000
    section = document.section("STATE", "s99999")
    assert section is not None and section.pairs()["k"].value == "99999"
