"""`spec_map.toml` has a row with a status for everything that ALF 1.0 asks for, and every test it names exists."""

from __future__ import annotations

import ast
import re
import tomllib
from collections import Counter
from functools import cache
from typing import Any

from support import reference
from support.paths import ROOT, TESTS

BULLETS = {
    "10.1": 3, "10.2": 7, "10.2.1": 5, "10.2.2": 5, "10.3": 6, "10.4": 7, "10.5": 4, "10.5.1": 6, "10.6": 9,
    "10.7": 4, "10.8": 4, "10.9": 6, "10.10": 4, "10.11": 6, "10.12": 5, "10.13": 8, "10.14": 9,
}  # fmt: skip

STATUSES = ("met", "partly", "otherwise")
HEADING = "## Unmet requirements"


@cache
def _map() -> dict[str, Any]:
    return tomllib.loads((TESTS / "spec_map.toml").read_text())


def _rows() -> list[tuple[str, dict[str, Any]]]:
    groups = [*_map()["bullets"], *_map()["requirements"]]
    return [(group["section"], item) for group in groups for item in group["items"]]


def _number(section: str, item: dict[str, Any]) -> str:
    return f"{section}.{item['bullet']}" if "bullet" in item else section


@cache
def _tests_in(file: str) -> frozenset[str]:
    """The tests a file defines, as pytest names them after the file: `test_x` or `TestClass::test_x`."""
    path = ROOT / file
    if not path.is_file():
        return frozenset()
    found = set()
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.FunctionDef):
            found.add(node.name)
        elif isinstance(node, ast.ClassDef):
            found |= {f"{node.name}::{each.name}" for each in node.body if isinstance(each, ast.FunctionDef)}
    return frozenset(name for name in found if name.split("::")[-1].startswith("test_"))


def test_every_bullet_of_section_10_has_its_row() -> None:
    listed = {group["section"]: [item["bullet"] for item in group["items"]] for group in _map()["bullets"]}
    assert listed == {section: list(range(1, count + 1)) for section, count in BULLETS.items()}
    assert sum(BULLETS.values()) == 98


def test_every_row_names_its_tests() -> None:
    assert [(section, item["says"]) for section, item in _rows() if not item.get("tests")] == []
    assert {name for _, item in _rows() for name in item} == {"bullet", "word", "says", "status", "reason", "tests"}


def test_every_row_has_a_status_and_only_a_row_that_is_not_met_a_reason() -> None:
    assert [(section, item["says"]) for section, item in _rows() if item.get("status") not in STATUSES] == []
    wrong = [
        (section, item["says"], item["status"])
        for section, item in _rows()
        if bool(item.get("reason", "").strip()) is (item["status"] == "met")
    ]
    assert wrong == []


def test_the_documentation_lists_every_row_that_is_not_met() -> None:
    wanted = [
        f"| §{_number(section, item)} | {item['says']} | {item['status']} | {item['reason']} |"
        for section, item in _rows()
        if item["status"] != "met"
    ]
    assert wanted
    text = (ROOT / "docs/format.md").read_text()
    table = text.partition(f"\n{HEADING}\n")[2].partition("\n## ")[0]
    assert [line for line in table.splitlines() if line.startswith("| §")] == wanted
    met = sum(item["status"] == "met" for _, item in _rows())
    assert f"{met} of {len(_rows())} requirements are met" in table


def test_every_named_test_exists() -> None:
    named = {test for _, item in _rows() for test in item.get("tests", [])}
    missing = sorted(test for test in named if test.partition("::")[2] not in _tests_in(test.partition("::")[0]))
    assert missing == []


def test_every_test_of_the_specification_stands_in_the_map() -> None:
    named = {test for _, item in _rows() for test in item.get("tests", [])}
    files = [path.relative_to(ROOT).as_posix() for path in sorted((TESTS / "spec").glob("test_*.py"))]
    defined = {f"{file}::{name}" for file in files for name in _tests_in(file)}
    assert sorted(defined - named) == []


def test_every_must_and_should_of_sections_6_and_8_has_its_row() -> None:
    """Counted in the specification itself."""
    text = reference.require("specs", "alf-1.0.0-rc.1.md").read_text()
    listed = {
        group["section"]: Counter(item["word"] for item in group["items"] if item["word"].isupper())
        for group in _map()["requirements"]
    }
    assert {section: words for section, words in listed.items() if words} == _words_by_section(text)


def _words_by_section(text: str) -> dict[str, Counter[str]]:
    words: dict[str, Counter[str]] = {}
    section = ""
    for line in text.splitlines():
        heading = re.match(r"(\d+(?:\.\d+)*)\.? [A-Z]", line)
        section = heading.group(1) if heading else section
        if section.split(".")[0] in ("6", "8"):
            words.setdefault(section, Counter()).update(re.findall(r"\b(?:MUST NOT|MUST|SHOULD)\b", line))
    return {section: found for section, found in words.items() if found}
