"""The decisions of a restore about each name."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lifeboat_core.restore.file_decisions import DecisionRules, PlanItem, RestoreAction, decide_files
from lifeboat_core.restore.folder_tree import FoundOnDisk
from lifeboat_core.restore.restore_journal import SeenPath
from lifeboat_core.restore.restore_options import decide_credentials
from lifeboat_core.restore.wanted_contents import WantedFile

ROOT = Path("/w/ada")


class FakeTree:
    """A tree in a dict: bytes are files, text is a link's target, None is a folder."""

    def __init__(self, nodes: dict[str, bytes | str | None], mtime_ns: int = 5) -> None:
        self.nodes = nodes
        self.mtime_ns = mtime_ns

    def find(self, name: str) -> FoundOnDisk | None:
        if name not in self.nodes:
            return None
        node = self.nodes[name]
        seen = SeenPath(1, 1)
        if node is None:
            return FoundOnDisk("folder", seen)
        if isinstance(node, str):
            return FoundOnDisk("link", seen, target=node)
        return FoundOnDisk("file", seen, len(node), self.mtime_ns, 0o644)

    def read(self, name: str) -> bytes | None:
        node = self.nodes[name]
        return node if isinstance(node, bytes) else None

    def below(self, name: str) -> Iterator[str]:
        return (each for each, node in self.nodes.items() if each.startswith(f"{name}/") and node is not None)


def wanted(name: str, data: bytes = b"new", **meta: Any) -> WantedFile:
    return WantedFile(name, f"raw/openclaw/{name}", "raw", meta, None, data)


def rules(tree: FakeTree, *, keep: bool = False) -> DecisionRules:
    return DecisionRules(
        ROOT, tree, lambda item, data: item.data == data, lambda item: "barred" if item.cuts else "", keep
    )


def decided(want: list[WantedFile], nodes: dict[str, Any], removable: list[str] | None = None) -> dict[str, PlanItem]:
    items = decide_files({each.name: each for each in want}, removable or [], rules(FakeTree(nodes)))
    return {item.name: item for item in items}


def test_a_missing_file_is_created() -> None:
    assert decided([wanted("SOUL.md")], {})["SOUL.md"].action == RestoreAction.CREATE


def test_other_bytes_are_overwritten() -> None:
    assert decided([wanted("SOUL.md")], {"SOUL.md": b"old"})["SOUL.md"].action == RestoreAction.OVERWRITE


def test_equal_bytes_are_the_same() -> None:
    assert decided([wanted("SOUL.md")], {"SOUL.md": b"new"})["SOUL.md"].action == RestoreAction.SAME


def test_another_execute_bit_is_no_same() -> None:
    assert decided([wanted("run.sh", executable=True)], {"run.sh": b"new"})["run.sh"].action == RestoreAction.OVERWRITE


def test_only_another_time_is_the_same_with_its_time_set() -> None:
    item = decided([wanted("SOUL.md", mtime_ns="7")], {"SOUL.md": b"new"})["SOUL.md"]
    assert (item.action, item.old_time) == (RestoreAction.SAME, 5)


def test_a_captured_file_that_the_state_lacks_is_removed() -> None:
    items = decided([], {"new.md": b"x"}, removable=["new.md", "gone.md"])
    assert [(item.name, item.action) for item in items.values()] == [("new.md", RestoreAction.REMOVE)]


def test_a_file_that_was_never_captured_is_not_touched() -> None:
    assert "scratch.tmp" not in decided([wanted("SOUL.md")], {"scratch.tmp": b"x"})


def test_a_link_that_leads_out_is_reported_and_not_made() -> None:
    item = decided([wanted("keys", b"", type="link", target="/etc")], {})["keys"]
    assert item.action == RestoreAction.SKIP
    assert "/etc" in str(item.reason)


def test_a_link_that_leads_out_and_is_there_stays() -> None:
    item = decided([wanted("keys", b"", type="link", target="/etc")], {"keys": "/etc"})["keys"]
    assert item.action == RestoreAction.SAME


def test_a_link_in_the_place_of_a_folder_goes_aside() -> None:
    items = decided([wanted("memory/a.md")], {"memory": "/elsewhere"})
    assert items["memory"].action == RestoreAction.REMOVE
    assert items["memory"].reason
    assert items["memory/a.md"].action == RestoreAction.CREATE


def test_a_folder_with_files_nobody_captured_is_not_replaced_by_a_file() -> None:
    nodes = {"notes": None, "notes/mine.md": b"x"}
    item = decided([wanted("notes")], nodes)["notes"]
    assert item.action == RestoreAction.SKIP


def test_a_folder_of_captured_files_is_replaced_by_a_file() -> None:
    nodes = {"notes": None, "notes/mine.md": b"x"}
    items = decided([wanted("notes")], nodes, removable=["notes/mine.md"])
    assert items["notes"].action == RestoreAction.OVERWRITE
    assert items["notes/mine.md"].action == RestoreAction.REMOVE


CUTS = [{"offset": 0, "credential_id": "c"}]


def test_a_missing_file_is_written_with_a_gap_where_its_credentials_cannot_be_had() -> None:
    item = decided([wanted(".env", cuts=CUTS)], {})[".env"]
    assert (item.action, item.reason, item.lacks_credentials) == (RestoreAction.CREATE, "barred", True)
    assert item.wanted is not None and item.wanted.has_gap


def test_a_file_that_stands_there_is_not_replaced_by_one_with_a_gap() -> None:
    item = decided([wanted(".env", cuts=CUTS)], {".env": b"with its credentials"})[".env"]
    assert (item.action, item.reason, item.lacks_credentials) == (RestoreAction.SKIP, "barred", True)


def test_a_file_of_the_runtimes_home_is_not_written_with_a_gap() -> None:
    (item,) = decide_files({".env": wanted(".env", cuts=CUTS)}, [], rules(FakeTree({}), keep=True))
    assert (item.action, item.reason, item.lacks_credentials) == (RestoreAction.SKIP, "barred", True)


@pytest.mark.parametrize("there", [b"old", "SOUL.md"])
def test_a_file_of_the_runtimes_home_is_never_replaced(there: bytes | str) -> None:
    items = decide_files({"x": wanted("x")}, [], rules(FakeTree({"x": there}), keep=True))
    assert items[0].action == RestoreAction.SKIP


def test_an_entry_of_an_unknown_kind_is_skipped() -> None:
    assert decided([wanted("pipe", type="fifo")], {})["pipe"].action == RestoreAction.SKIP


@pytest.mark.parametrize(
    ("asked", "is_own_workspace", "is_signed", "is_key_usable", "expected"),
    [
        (None, True, True, True, True),
        (None, False, True, True, False),
        (None, True, False, True, False),
        (None, True, True, False, False),
        (False, True, True, True, False),
        (True, False, True, False, True),
    ],
)
def test_credentials_go_back_in_place_by_default(
    asked: bool | None, is_own_workspace: bool, is_signed: bool, is_key_usable: bool, expected: bool
) -> None:
    decided = decide_credentials(
        asked, is_own_workspace=is_own_workspace, is_signed=is_signed, is_key_usable=is_key_usable
    )
    assert decided is expected
