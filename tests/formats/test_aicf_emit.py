"""Parsed AICF files are emitted byte for byte."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lifeboat_formats.aicf.syntax.document import AicfDocument, emit_document, find_section, parse_document
from support import reference
from support.formats import aicf_files

_BITS = (
    *("|", "\\", "\n", "\r", "\r\n", "@", "=", '"""', "#", "```", ":", " ", "\t", "\u2028", "\x85", "\x0b", "\0", "é"),
    *(
        "\\n",
        "\\|",
        "\\@",
        "1|",
        "2|",
        "37|",
        "a",
        "key=",
        "@STATE:user",
        "@INSIGHTS",
        "@INSIGHTS x|y",
        "@DATA",
        "@SCHEMA",
    ),
    *(
        "@AICF_VERSION\n",
        "version=3.1\n",
        "@NOTES",
        "@X_END",
        "@X",
        "\\@CONVERSATION:c\\nx=1",
        "->",
        "{",
        "[",
        "]",
        "}",
    ),
    *("@conversations count=1", "@CONVERSATION|a|b", "@MESSAGE:user", "@FLOW", "version|3", "<AICF version='1.0'>"),
)
_MIXTURES = st.lists(st.sampled_from(_BITS), max_size=30).map("".join)


def _check(document: AicfDocument, data: bytes) -> None:
    assert emit_document(document) == data
    at = 0
    for section in document.sections:
        assert section.start == at and section.items
        for item in section.items:
            assert item.start == at <= item.value_start <= item.value_end <= item.end or item.value_end == 0
            at = item.end
        assert section.end == at
    assert at == len(document.text)


@pytest.mark.parametrize("name", aicf_files.FILES)
def test_a_file_of_every_dialect_comes_out_as_it_was(name: str) -> None:
    data = aicf_files.FILES[name]
    _check(parse_document(data), data)
    _check(
        parse_document(b"\xef\xbb\xbf" + data.removeprefix(b"\xef\xbb\xbf")),
        b"\xef\xbb\xbf" + data.removeprefix(b"\xef\xbb\xbf"),
    )


@pytest.mark.parametrize("name", aicf_files.FILES)
def test_a_compressed_file_comes_out_as_it_was_compressed(name: str) -> None:
    data = aicf_files.packed(aicf_files.FILES[name])
    document = parse_document(data)
    assert emit_document(document) == data
    assert document.text.encode() == aicf_files.FILES[name].removeprefix(b"\xef\xbb\xbf")


@settings(max_examples=500, deadline=None)
@given(_MIXTURES)
@example('1|@X\nk="""a\n@Y\nb"""\n@Y\n')
@example('k="""\nk="""\nk="""')
@example("\\@CONVERSATION:c\\n")
@example("1|\\@X\\n\\n2|y\r")
@example("@X\n@X_END\ny\n@X_END")
def test_any_mixture_comes_out_as_it_was(text: str) -> None:
    _check(parse_document(text), text.encode())


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=60))
def test_any_bytes_that_are_text_come_out_as_they_were(data: bytes) -> None:
    try:
        data.decode()
    except UnicodeDecodeError:
        return
    assert emit_document(parse_document(data)) == data


@settings(max_examples=500, deadline=None)
@given(_MIXTURES)
@example("\u2028@STATE\n@STATE\n")
@example("@STATE x\n@INSIGHTS \n@INSIGHTS a\n@DECISION b\n")
@example("7|@STATE:user\nkey=1\n  @STATE:user\nkey=2\n")
def test_one_section_is_found_as_it_is_read_among_all(text: str) -> None:
    document = parse_document(text)
    for section in [*document.sections]:
        assert find_section(document.text, section.name, section.ident) == document.section(section.name, section.ident)
        assert find_section(document.text, section.name) == document.section(section.name)
    assert find_section(document.text, "NOWHERE") is None


@pytest.mark.parametrize("name", aicf_files.FILES)
def test_each_section_of_each_dialect_is_found_alone(name: str) -> None:
    document = parse_document(aicf_files.FILES[name])
    for section in document.sections:
        assert find_section(document.text, section.name.lower(), section.ident) == document.section(
            section.name, section.ident
        )
    assert find_section(document.text, "STATE", "nobody") is None


def test_a_value_can_be_replaced_in_its_place() -> None:
    document = parse_document(aicf_files.SPECIFIED)
    section = document.section("state", "user")
    assert section is not None
    item = section.pairs()["user:preferred_language"]
    text = document.text[: item.value_start] + "Dutch" + document.text[item.value_end :]
    assert text.encode() == aicf_files.SPECIFIED.replace(b"Portuguese", b"Dutch")


def test_the_examples_of_the_specification_come_out_as_they_were() -> None:
    text = reference.require("specs", "aicf-3.1.md").read_text()
    blocks = [block.split("\n", 1)[1] for block in text.split("```")[1::2]]
    assert len(blocks) > 10
    for block in blocks:
        _check(parse_document(block), block.encode())
    full = parse_document(blocks[-1])
    assert (full.dialect, full.version, len(full.sections)) == ("v3.1", "3.1", 10)
