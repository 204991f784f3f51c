"""Checks of AICF files: each rule of the specification with its code and line."""

from __future__ import annotations

import pytest

from lifeboat_formats.aicf.syntax import file_checks, specification
from lifeboat_formats.aicf.syntax.document import parse_document
from lifeboat_formats.aicf.syntax.file_checks import check_file
from support import reference
from support.formats import aicf_files

HEAD = "@AICF_VERSION\nversion=3.1\n\n"
TALK = HEAD + "@CONVERSATION:c\ntimestamp_start=2026-01-01T00:00:00Z\ntimestamp_end=2026-01-01T01:00:00Z\nmessages=2\n"
STATE = "\n@STATE\nstatus=completed\n"
GOOD = TALK + STATE


def _codes(source: str | bytes, *, strict: bool = False) -> list[tuple[str, int | None]]:
    data = source if isinstance(source, bytes) else aicf_files.numbered(source)
    return [(finding.code, finding.line) for finding in check_file(data, strict=strict)]


def _errors(source: str | bytes, *, strict: bool) -> set[str]:
    data = source if isinstance(source, bytes) else aicf_files.numbered(source)
    return {finding.code for finding in check_file(data, strict=strict) if finding.is_error}


def test_a_file_as_it_should_be_has_no_findings() -> None:
    assert _codes(GOOD, strict=True) == []


@pytest.mark.parametrize(
    ("text", "code", "line"),
    [
        (GOOD + "@INSIGHT x\n", "required_field_missing", 11),
        (GOOD + "status=completed\n", "field_duplicate", 11),
        (TALK + "mood=good\n" + STATE, "field_unknown", 8),
        (TALK + "just text\n" + STATE, "field_syntax", 8),
        (TALK + "# a remark\n" + STATE, "field_syntax", 8),
        (TALK + "topic=a\\tb\n" + STATE, "escape_unknown", 8),
        (TALK, "required_section_missing", 4),
        (TALK.replace("messages=2\n", "") + STATE, "required_field_missing", 4),
        (GOOD.replace("messages=2", "messages=two"), "int_invalid", 7),
        (GOOD.replace("=2026-01-01T00:00:00Z", "=2026-01-01"), "timestamp_invalid", 5),
        (GOOD.replace("completed", "finished"), "enum_unknown", 10),
        (GOOD.replace("=3.1", "=4.0"), "version_unsupported", None),
        (GOOD + "\n@HARBOUR:x\na=1\n", "section_unknown", 12),
        (GOOD + "\n@STATE|user\nuser:a=1\n", "header_malformed", 12),
        (GOOD + "@no.header\n", "header_malformed", 11),
        (GOOD + "\n@INSIGHTS a|HARBOUR|HIGH|HIGH\n", "enum_unknown", 12),
        (GOOD + "\n@INSIGHTS a|DATA|HIGH|HIGH|memory_type=odd\n", "enum_unknown", 12),
        (GOOD + "\n@INSIGHTS a|DATA|memory_type=semantic\n", "required_field_missing", 12),
        (GOOD + "\n@DECISIONS a|HUGE|HIGH|b\n", "enum_unknown", 12),
        (GOOD + "\n@DECISIONS a|HIGH\n", "required_field_missing", 12),
        (GOOD + "\n@LINKS c->d|related_to\n", "link_unresolved", 12),
        (GOOD + "\n@LINKS c->c|supports\n", "enum_unknown", 12),
        (GOOD + "\n@LINKS nothing\n", "field_syntax", 12),
        (GOOD + "\n@STATE:user\napp:theme=dark\n", "scope_conflict", 13),
        (GOOD + "\n@STATE:world\na=1\n", "enum_unknown", 12),
        (GOOD + "\n@STATE:temp\nstep=1\n", "temp_state_persisted", 12),
        (GOOD + "\n@EMBEDDING:c\nmodel=m\ndimension=3\nvector=1,2,...\n", "vector_elided", 15),
        (GOOD + "\n@EMBEDDING:c\nmodel=m\ndimension=3\nvector=1,2\n", "vector_dimension_mismatch", 15),
        (GOOD + "\n@EMBEDDING:c\nmodel=m\ndimension=2\nvector=1,nan\n", "vector_non_finite", 15),
        (GOOD + "\n@EMBEDDING:c\nmodel=m\ndimension=1\nvector=1\nsimilarity_threshold=x\n", "float_invalid", 16),
        (
            GOOD + "\n@CONSOLIDATION:w\nsource_items=c\nconsolidated_at=2026-01-01T00:00:00Z\n"
            "method=deduplication\ninformation_preserved=0.95\n",
            "percentage_invalid",
            16,
        ),
    ],
)
def test_one_thing_that_is_wrong_is_one_finding(text: str, code: str, line: int | None) -> None:
    assert _codes(text) == [(code, line)]


@pytest.mark.parametrize(
    ("data", "code", "line"),
    [
        (b"@STATE\nname=\xff\n", "utf8_invalid", 2),
        (b"\xef\xbb\xbf@STATE\r\n\r\n\xc0", "utf8_invalid", 3),
        (b"\x1f\x8b" + b"\0" * 20, "gzip_invalid", None),
    ],
)
def test_what_cannot_be_read_is_the_only_error(data: bytes, code: str, line: int | None) -> None:
    assert _codes(data) == [(code, line)]
    assert _errors(data, strict=False) == {code}


@pytest.mark.parametrize(
    ("data", "codes"),
    [
        (aicf_files.numbered(GOOD).replace(b"\n", b"\r\n", 3), [("eol_mixed", None)]),
        (aicf_files.numbered(GOOD) + b"11|@STATE\n12|a=\0\n", [("nul_byte", 12)]),
        (aicf_files.numbered(GOOD).replace(b"9|", b"12|", 1), [("number_gap", 9), ("number_gap", 10)]),
        (b"2|" + aicf_files.numbered(GOOD)[2:], [("number_not_from_1", 1), ("number_gap", 2)]),
        (aicf_files.numbered(GOOD).replace(b"10|", b"", 1), [("number_missing", 10)]),
        (GOOD.encode(), [("number_missing", 1)]),
        (aicf_files.numbered(GOOD.removeprefix(HEAD)), [("version_missing", None)]),
        (b"[1", [("version_missing", None), ("json_invalid", 1)]),
        (b'@AICF_VERSION 3.0\n@STATE\nnote="""x\n', [("number_missing", 1), ("triple_quotes_open", 3)]),
    ],
)
def test_what_is_wrong_with_lines_and_numbers(data: bytes, codes: list[tuple[str, int | None]]) -> None:
    assert _codes(data) == codes


def test_long_values_and_long_lines_are_told_of() -> None:
    long_value = GOOD + "actions=" + "é" * (specification.LARGEST_FIELD // 2 + 1) + "\n"
    assert _codes(long_value) == [("field_too_long", 11)]
    just_right = GOOD + "actions=" + "é" * (specification.LARGEST_FIELD // 2) + "\n"
    assert _codes(just_right) == []
    long_line = GOOD + "actions=" + "x" * specification.LARGEST_LINE + "\n"
    assert _codes(long_line) == [("line_too_long", 11), ("field_too_long", 11)]


def test_a_large_file_is_told_of(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(specification, "LARGEST_FILE", 20)
    assert _codes(GOOD) == [("file_too_big", None)]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (TALK + "just text\n" + STATE, "field_syntax"),
        (TALK + "topic=a\\tb\n" + STATE, "escape_unknown"),
        (TALK, "required_section_missing"),
        (TALK.replace("messages=2\n", "") + STATE, "required_field_missing"),
        (GOOD.replace("=2026-01-01T00:00:00Z", "=2026-01-01"), "timestamp_invalid"),
    ],
)
def test_what_breaks_the_format_is_an_error_only_when_asked_strictly(text: str, code: str) -> None:
    assert _errors(text, strict=True) == {code}
    assert _errors(text, strict=False) == set()


@pytest.mark.parametrize("name", aicf_files.FILES)
def test_no_file_of_any_dialect_has_an_error_when_it_is_only_to_be_read(name: str) -> None:
    assert _errors(aicf_files.FILES[name], strict=False) == set()


def test_the_findings_on_the_example_of_the_specification_are_its_own_contradictions() -> None:
    text = reference.require("specs", "aicf-3.1.md").read_text()
    example = text.split("```")[1::2][-1].split("\n", 1)[1].encode()
    assert {code for code, _ in _codes(example, strict=True)} == {"enum_unknown", "link_unresolved", "vector_elided"}
    assert _errors(example, strict=True) == set()


def test_many_findings_of_one_kind_are_counted_instead_of_listed() -> None:
    found = check_file(aicf_files.numbered(GOOD + "nothing\n" * 1000), strict=True)
    assert len(found) == file_checks.MOST + 1
    assert found[-1].text == f"and {1000 - file_checks.MOST} more of this kind" and found[-1].is_error


def test_rows_of_a_file_are_known_by_their_number_in_links() -> None:
    text = (
        GOOD + "\n@INSIGHTS a|DATA|HIGH|HIGH\n@DECISIONS b|HIGH|HIGH|c\n@LINKS decision_001->insight_001|implements\n"
    )
    assert _codes(text) == []


def test_a_document_that_was_read_is_checked_as_its_bytes_are() -> None:
    data = aicf_files.SPECIFIED
    assert check_file(parse_document(data), strict=True) == check_file(data, strict=True)


@pytest.mark.parametrize("name", aicf_files.FILES)
def test_a_finding_says_nothing_of_what_stands_in_the_file(name: str) -> None:
    shown = " ".join(f"{finding.text} {finding.where}" for finding in check_file(aicf_files.FILES[name], strict=True))
    assert not any(word in shown for word in ("berth", "pump", "skipper", "anchor", "varnish", "belt", "locker"))
