"""Odd YAML documents: the spans that each has, or the place at which it is refused, from either parser of PyYAML."""

from __future__ import annotations

import json
from pathlib import Path as FilePath
from typing import Any

import pytest
import yaml

from lifeboat_adapters.credential_types import UnparsableSecrets
from lifeboat_adapters.secrets import yaml_leaves

_FILE = FilePath(__file__).parents[1] / "support" / "adapters" / "odd_yaml.jsonl"
_DOCUMENTS: list[dict[str, Any]] = [json.loads(line) for line in _FILE.read_text(encoding="utf-8").splitlines()]
_NAMES = [each["name"] for each in _DOCUMENTS]


def _bytes_of(document: dict[str, Any]) -> bytes:
    return bytes.fromhex(document["hex"]) if "hex" in document else document["text"].encode()


def _expected(document: dict[str, Any]) -> list[tuple[Any, ...]] | str:
    if "refused" in document:
        return str(document["refused"])
    return [(tuple(leaf["path"]), leaf["value"], leaf["at"], leaf["literal"]) for leaf in document["leaves"]]


def _found(data: bytes) -> list[tuple[Any, ...]] | str:
    try:
        leaves = yaml_leaves.scan_yaml(data)
    except UnparsableSecrets as error:
        return str(error)
    return [(leaf.path, leaf.value, leaf.start, data[leaf.start : leaf.end].decode()) for leaf in leaves]


def test_there_are_more_than_a_hundred_documents_each_under_its_own_name() -> None:
    assert len(set(_NAMES)) == len(_DOCUMENTS) > 100


@pytest.mark.skipif(not yaml.__with_libyaml__, reason="PyYAML was built without libyaml")
@pytest.mark.parametrize("document", _DOCUMENTS, ids=_NAMES)
def test_an_odd_document_has_these_spans_or_is_refused_here(document: dict[str, Any]) -> None:
    assert _found(_bytes_of(document)) == _expected(document)


@pytest.mark.parametrize("document", _DOCUMENTS, ids=_NAMES)
def test_the_parser_in_python_gives_the_same_spans_or_refuses(
    document: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(yaml_leaves, "_LOADER", yaml.SafeLoader)
    found, expected = _found(_bytes_of(document)), _expected(document)
    assert isinstance(found, str) or isinstance(expected, str) or found == expected


@pytest.mark.parametrize("loader", [yaml_leaves._LOADER, yaml.SafeLoader])
@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("[" * 100 + "x" + "]" * 100, (0,) * 100),
        ("- " * 100 + "x", (0,) * 100),
        ("".join(" " * depth + "k:\n" for depth in range(100)) + " " * 100 + "x", ("k",) * 100),
        ("- " * 50 + "[" * 50 + "x" + "]" * 50, (0,) * 100),
    ],
    ids=["flow", "sequences", "mappings", "both"],
)
def test_a_hundred_levels_are_read_and_one_more_is_refused(
    text: str, path: tuple[Any, ...], loader: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(yaml_leaves, "_LOADER", loader)
    assert [leaf.path for leaf in yaml_leaves.scan_yaml(text.encode())] == [path]
    deeper = text.replace("x", "[x]").encode()
    with pytest.raises(UnparsableSecrets, match="the document is nested deeper than 100"):
        yaml_leaves.scan_yaml(deeper)


@pytest.mark.parametrize("loader", [yaml_leaves._LOADER, yaml.SafeLoader])
@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("a: " + "x" * 100_000 + "\nb: c\n", 2),
        ('a: "' + "x y" * 30_000 + '"\nb: c\n', 2),
        ("a: |\n" + "  line of text\n" * 5_000 + "b: c\n", 2),
        ("a: " + "7" * 5_000, 1),
        ("[" + "a, " * 3_000 + "z]", 3_001),
        ("".join(f"k{number}: v{number}\n" for number in range(3_000)), 3_000),
    ],
    ids=["plain", "quoted", "block", "digits", "wide sequence", "wide mapping"],
)
def test_long_and_wide_documents_are_read_whole(
    text: str, count: int, loader: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(yaml_leaves, "_LOADER", loader)
    leaves = yaml_leaves.scan_yaml(text.encode())
    assert len(leaves) == count
    assert leaves[-1].end == len(text.rstrip("\n]"))


def test_a_value_that_many_aliases_repeat_is_one_leaf() -> None:
    anchors = "".join(f"- &a{number + 1} [{', '.join([f'*a{number}'] * 9)}]\n" for number in range(60))
    assert [leaf.value for leaf in yaml_leaves.scan_yaml(f"- &a0 hunter\n{anchors}".encode())] == ["hunter"]


@pytest.mark.parametrize("loader", [yaml_leaves._LOADER, yaml.SafeLoader])
def test_a_collection_glued_to_a_tag_is_refused_and_not_passed_over(
    loader: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(yaml_leaves, "_LOADER", loader)
    with pytest.raises(UnparsableSecrets):
        yaml_leaves.scan_yaml(b"a: !t[hunter]\n")
