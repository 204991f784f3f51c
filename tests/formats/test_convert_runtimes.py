"""Files of other memory systems as workspaces of agents, and agents as such files, through commands."""

from __future__ import annotations

from pathlib import Path

import pytest

from lifeboat_adapters import adapter_registry as runtimes
from lifeboat_core.home.context import Context
from lifeboat_core.restore.usual_folders import find_usual_folders
from lifeboat_formats.interchange import format_registry as formats
from support.adapters import openclaw_workspaces
from support.cli.cli_client import run
from support.formats import aicf_files, aimem_bundles

SAMPLES = {
    "aimem": ("lark.aimem.json", lambda: aimem_bundles.document(aimem_bundles.sample())),
    "aicf": ("lark.aicf", lambda: aicf_files.SPECIFIED),
}
NAMES = tuple(SAMPLES)


def sample(folder: Path, name: str) -> Path:
    file, made = SAMPLES[name]
    folder.mkdir(exist_ok=True)
    (folder / file).write_bytes(made())
    return folder / file


def files_in(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def memories(agent: str) -> list[str]:
    listed = run("records", "list", agent, "--limit", "500")["records"]
    shown = run("records", "show", agent, *(one["id"] for one in listed))["records"]
    return sorted(one["content"].strip() for one in shown)


@pytest.mark.parametrize("name", NAMES)
def test_what_was_converted_and_imported_is_the_same_file_and_captured_without_a_change(
    tmp_path: Path, name: str
) -> None:
    source = sample(tmp_path / "there", name)
    run("alf", "convert", source, "--to", "alf", "-o", tmp_path / "a.alf", "--yes")
    imported = run("alf", "import", tmp_path / "a.alf", "--to", tmp_path / "here")
    assert (imported["runtime"], imported["copied_from"]) == (name, None)
    assert source.read_bytes() in files_in(tmp_path / "here").values()
    run("agents", "resume", imported["agent"])
    synced = run("sync", imported["agent"])["agents"][0]
    assert synced["records"] == {"created": 0, "updated": 0, "deleted": 0}


@pytest.mark.parametrize("name", NAMES)
def test_a_folder_of_files_is_an_agent_that_comes_back_byte_for_byte(tmp_path: Path, name: str) -> None:
    source = sample(tmp_path / "lark", name)
    added = run("agents", "add", source.parent)
    assert added["runtime"] == name
    run("restore", added["id"], "--to", tmp_path / "again")
    assert files_in(tmp_path / "again") == files_in(source.parent)
    assert run("verify", added["id"])["mismatches"] == []


@pytest.mark.parametrize("name", NAMES)
def test_both_doors_read_the_same_memories(tmp_path: Path, name: str) -> None:
    source = sample(tmp_path / "lark", name)
    watched = run("agents", "add", source.parent)
    run("alf", "convert", source, "--to", "alf", "-o", tmp_path / "a.alf", "--yes")
    converted = run("alf", "import", tmp_path / "a.alf", "--to", tmp_path / "here", "--runtime", "openclaw")
    assert memories(watched["id"]) == memories(converted["agent"])


@pytest.mark.parametrize("name", NAMES)
def test_an_agent_is_restored_as_such_files_and_those_are_an_agent_again(
    isolated_home: Path, tmp_path: Path, name: str
) -> None:
    workspace = openclaw_workspaces.make_state_dir(isolated_home / ".openclaw").workspace
    run("agents", "add", workspace)
    restored = run("restore", "Juniper", "--runtime", name, "--to", tmp_path / "there")
    assert restored["runtime"] == name and restored["records"]["restored"] > 0
    assert any(file.endswith(formats.load_format(name).suffixes) for file in files_in(tmp_path / "there"))
    again = run("agents", "add", tmp_path / "there", "--runtime", name, "--new", "--name", "Again")
    before = {text for text in memories("Juniper") if text}
    assert before - set(memories(again["id"])) == set()


def test_the_wizards_offer_every_runtime_a_folder_of_its_own() -> None:
    assert set(formats.list_formats()) <= set(runtimes.list_runtimes())
    offered = find_usual_folders(Context.open(), "Juniper Bay")
    assert set(offered) == set(runtimes.list_runtimes()) and len(set(offered.values())) == len(offered)
    assert offered["aimem"] == Path.home() / "aimem" / "juniper-bay"


def test_an_agent_of_a_remote_is_offered_folders_for_runtimes_only(isolated_home: Path, tmp_path: Path) -> None:
    run("agents", "add", openclaw_workspaces.make_state_dir(isolated_home / ".openclaw").workspace)
    run("remote", "add", "stick", (tmp_path / "stick").as_uri())
    run("sync")
    (away,) = run("agents", "list", "--remote", "stick")["agents"]
    assert set(away["folders"]) == set(runtimes.list_runtimes()) - set(formats.list_formats())


def test_an_agent_in_a_file_format_keeps_the_folder_of_its_own(tmp_path: Path) -> None:
    run("agents", "add", sample(tmp_path / "lark", "aimem").parent)
    run("remote", "add", "stick", (tmp_path / "stick").as_uri())
    run("sync")
    (away,) = run("agents", "list", "--remote", "stick")["agents"]
    assert set(away["folders"]) & set(formats.list_formats()) == {"aimem"} == {away["runtime"]}


def test_a_restore_as_bundles_tells_what_of_the_agent_stands_in_none(isolated_home: Path, tmp_path: Path) -> None:
    workspace = openclaw_workspaces.make_state_dir(isolated_home / ".openclaw").workspace
    run("agents", "add", workspace)
    there = ("--to", tmp_path / "there", "--state-dir", tmp_path / "state")
    restored = run("restore", "Juniper", "--runtime", "aimem", *there)
    omitted = [each for each in restored["fates"] if each["outcome"] == "omitted"]
    told = {(each["kind"], name): each["reason"] for each in omitted for name in each["names"]}
    assert "only the name of an agent" in told["setting", "identity: its texts"]
    assert any(kind == "principal" and "only memories, no principals" in reason for (kind, _), reason in told.items())
