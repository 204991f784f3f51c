"""The receipt of a restore for people."""

from __future__ import annotations

from pathlib import Path

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_cli.restore.restore_counts_text import detail_lines
from support.adapters import openclaw_workspaces
from support.cli.cli_client import run


def report(*groups: tuple[str, str, str, list[str]]) -> JsonObject:
    outcomes: dict[str, int] = dict.fromkeys(("accepted", "omitted", "unresolved"), 0)
    for _, outcome, _, names in groups:
        outcomes[outcome] += len(names)
    fields = ("kind", "outcome", "reason", "names")
    return {
        "objects": sum(outcomes.values()),
        "outcomes": outcomes,
        "fates": [dict(zip(fields, group, strict=True)) | {"code": "body_absent"} for group in groups],
        "skipped": [],
        "left_out": [],
    }


def test_what_was_not_asked_for_needs_no_line_where_one_path_was() -> None:
    group = report(("row", "omitted", "not requested", ["a"]))
    group["fates"][0]["code"] = "not_asked"
    assert list(detail_lines(group, is_limited=True)) == []
    assert len(list(detail_lines(group))) == 1


def test_what_arrived_as_it_is_needs_no_words() -> None:
    assert list(detail_lines(report(("file", "accepted", "", ["raw/openclaw/a.md"])))) == []


def test_files_are_named_and_the_rest_counted() -> None:
    names = [f"raw/openclaw/{letter}.md" for letter in "abcde"]
    assert list(detail_lines(report(("file", "omitted", "too old", names)))) == [
        "5 files omitted (a.md, b.md, c.md and 2 more): too old"
    ]


def test_ids_of_memories_are_no_names_for_people() -> None:
    assert list(detail_lines(report(("memory", "omitted", "too old", ["1", "2"])))) == ["2 memories omitted: too old"]


def test_a_reason_that_was_said_already_is_not_said_again() -> None:
    made = report(("file", "unresolved", "its bytes are not here", ["raw/openclaw/a.md"]))
    assert len(list(detail_lines(made))) == 1
    skipped = {"name": "a.md", "reason": "its bytes are not here", "code": "body_absent", "warning": True}
    assert list(detail_lines(made | {"skipped": [skipped]})) == []
    assert list(detail_lines(made | {"left_out": [{"path": "a.md", "code": "body_absent"}]})) == []


def test_many_reasons_are_cut_short_for_people() -> None:
    lines = list(detail_lines(report(*(("file", "omitted", f"reason {number}", ["a"]) for number in range(20)))))
    assert lines[-1] == "8 more groups not shown; to list all: --json"


def test_a_dry_run_tells_what_the_restore_tells(isolated_home: Path, tmp_path: Path) -> None:
    made = openclaw_workspaces.make_state_dir(isolated_home / ".openclaw")
    run("agents", "add", made.workspace)
    planned = run("restore", "Juniper", "--to", tmp_path / "new", "--dry-run")
    done = run("restore", "Juniper", "--to", tmp_path / "new")
    assert (planned["objects"], planned["outcomes"], planned["fates"]) == (
        done["objects"],
        done["outcomes"],
        done["fates"],
    )


def test_the_log_tells_of_a_restore(isolated_home: Path, tmp_path: Path) -> None:
    made = openclaw_workspaces.make_state_dir(isolated_home / ".openclaw")
    run("agents", "add", made.workspace)
    receipt = run("restore", "Juniper", "--to", tmp_path / "new")["receipt"]
    entry = next(each for each in run("log", "Juniper", "--limit", "3")["entries"] if each["receipt"])
    assert (entry["receipt"], entry["kind"]) == (receipt, "restore")
