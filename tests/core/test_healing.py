"""Damaged bytes: what is restored without them, and where verify reads them again."""

from __future__ import annotations

import random
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from lifeboat_core.health import status_gathering
from lifeboat_core.history import differences
from lifeboat_core.restore import RestoreOptions, RestoreReport, restore_agent
from lifeboat_core.verify import samples_and_drills
from support.cli import cli_client
from support.core.machines import Machine
from support.prepared_folders import PreparedFolders

PICTURE = random.Random(1).randbytes(400_000)
OTHER = random.Random(2).randbytes(400_000)


def machine_with_pictures(folder: Path) -> Machine:
    made = Machine(folder)
    made.write("pic.png", PICTURE)
    made.write("small.bin", PICTURE[:5000])
    made.add(name="ada")
    return made


@pytest.fixture
def ada(prepared_folders: PreparedFolders) -> Machine:
    return prepared_folders.restore("ada with pictures", machine_with_pictures)


def flip(ada: Machine, path: str) -> None:
    """Flip one bit of the newest bytes of an entry, in a row or in a file."""
    folder = ada.context.home.vault_folder(ada.agent.id)
    with closing(sqlite3.connect(folder / "vault.db")) as database, database:
        number, file, body = database.execute(
            """select o.id, o.file, o.body from entry e join object o on o.id = e.object
               where e.path = ? and e.last is null""",
            (path,),
        ).fetchone()
        if file is None:
            database.execute("update object set body = ? where id = ?", (_flipped(body), number))
    if file is not None:
        (folder / "objects" / file).write_bytes(_flipped((folder / "objects" / file).read_bytes()))


def flip_record(ada: Machine) -> str:
    """Flip one bit in the line of a memory; its id."""
    with closing(sqlite3.connect(ada.context.home.vault_folder(ada.agent.id) / "vault.db")) as database, database:
        record_id, number, body = database.execute(
            "select r.id, o.id, o.body from record r join object o on o.id = r.object order by o.id limit 1"
        ).fetchone()
        database.execute("update object set body = ? where id = ?", (_flipped(body), number))
    return str(record_id)


def _flipped(data: bytes) -> bytes:
    at = len(data) // 2
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


def restored(ada: Machine, **options: object) -> RestoreReport:
    return restore_agent(ada.context, ada.known_agent, RestoreOptions(yes=True, reindex=False, **options))  # type: ignore[arg-type]


def is_whole(ada: Machine) -> bool:
    return not samples_and_drills.drill_vault(ada.context, ada.known_agent, whole=True).mismatches


PATHS = ("artifacts/pic.png", "artifacts/small.bin", "raw/openclaw/SOUL.md", "identity.json", "manifest.json")


@pytest.mark.parametrize("path", PATHS)
def test_everything_else_is_restored_and_what_is_damaged_is_named(ada: Machine, tmp_path: Path, path: str) -> None:
    flip(ada, path)
    report = restored(ada, to=tmp_path / "copy")
    name = path.removeprefix("artifacts/").removeprefix("raw/openclaw/")
    assert [(each["name"], each["code"]) for each in report.left_out] == [(name, "damaged")]
    assert any(name in warning for warning in report.warnings)
    assert sum(report.outcomes.values()) == report.objects
    for file in ada.workspace.iterdir():
        copy = tmp_path / "copy" / file.name
        assert copy.exists() == (file.name != name)
        assert not copy.exists() or copy.read_bytes() == file.read_bytes()
    found = status_gathering.gather_facts(ada.context, ada.known_agent).damaged
    assert found is not None and name in found["first"]


def test_every_file_is_restored_as_captured_when_a_record_is_damaged(ada: Machine, tmp_path: Path) -> None:
    record_id = flip_record(ada)
    report = restored(ada, to=tmp_path / "copy")
    assert [(each["name"], each["code"]) for each in report.left_out] == [(f"memory {record_id}", "damaged")]
    assert sum(report.outcomes.values()) == report.objects
    for file in ada.workspace.iterdir():
        assert (tmp_path / "copy" / file.name).read_bytes() == file.read_bytes()
    found = samples_and_drills.drill_vault(ada.context, ada.known_agent).mismatches
    assert f"the memory {record_id} was changed" in found
    assert status_gathering.gather_facts(ada.context, ada.known_agent).damaged is not None


def test_a_manifest_that_cannot_be_parsed_costs_no_file(ada: Machine, tmp_path: Path) -> None:
    with closing(sqlite3.connect(ada.context.home.vault_folder(ada.agent.id) / "vault.db")) as database, database:
        database.execute(
            """update object set body = cast('no JSON' as blob), coding = 'plain', size = 7, base = null
               where id in (select object from entry where path = 'manifest.json')"""
        )
    assert [each["name"] for each in restored(ada, to=tmp_path / "copy").left_out] == ["manifest.json"]
    assert (tmp_path / "copy" / "MEMORY.md").read_text() == ada.read("MEMORY.md")


def test_other_files_can_be_asked_for_by_name(ada: Machine, tmp_path: Path) -> None:
    flip(ada, "artifacts/pic.png")
    assert restored(ada, to=tmp_path / "copy", path_globs=("MEMORY.md",)).left_out == []
    assert (tmp_path / "copy" / "MEMORY.md").read_text() == ada.read("MEMORY.md")


def test_a_comparison_names_what_is_damaged_and_tells_the_rest(ada: Machine) -> None:
    ada.write("pic.png", OTHER)
    ada.write("SOUL.md", "# Soul\n\nBe brief.\n")
    ada.capture()
    for body in (ada.context.home.vault_folder(ada.agent.id) / "objects").iterdir():
        body.unlink()
    document = differences.compare_sequences(ada.context, ada.known_agent, "0", "1")
    assert [each["path"] for each in document["files"] if each.get("damaged")] == ["artifacts/pic.png"]
    assert any("Be brief" in each.get("diff", "") for each in document["files"])
    assert any("damaged" in line for line in differences.format_differences(document))


def test_a_damaged_file_that_is_missing_in_place_stays_in_the_newest_state(ada: Machine) -> None:
    flip(ada, "artifacts/pic.png")
    shutil.rmtree(ada.workspace)
    assert [each["name"] for each in restored(ada).left_out] == ["pic.png"]
    ada.write("memory/2026-11-12.md", "# Day\n\nThe tide was low.\n")
    ada.capture()
    assert ada.meta("artifacts/pic.png") is not None
    assert not (ada.workspace / "pic.png").exists()


def test_a_damaged_file_that_is_there_stays_there(ada: Machine) -> None:
    flip(ada, "artifacts/pic.png")
    ada.write("SOUL.md", "# Soul\n\nBe brief.\n")
    report = restored(ada, at=0)
    assert [each["name"] for each in report.left_out] == ["pic.png"]
    assert (ada.workspace / "pic.png").read_bytes() == PICTURE
    assert "kind" in ada.read("SOUL.md")


@pytest.mark.parametrize("path", PATHS[:3])
def test_verify_heals_from_the_workspace(ada: Machine, path: str) -> None:
    flip(ada, path)
    found = samples_and_drills.drill_vault(ada.context, ada.known_agent)
    assert found.mismatches == []
    assert len(found.healed) == 1 and "from the workspace" in found.healed[0]
    assert samples_and_drills.drill_vault(ada.context, ada.known_agent, whole=True).healed == []
    with ada.context.vault(ada.agent.id) as vault:
        assert vault.check_audit() == []


def test_the_daily_sample_heals_from_the_workspace(ada: Machine) -> None:
    flip(ada, "artifacts/pic.png")
    found = samples_and_drills.sample_vault(ada.context, ada.known_agent)
    assert (len(found.healed), found.mismatches) == (1, [])
    assert is_whole(ada)


@pytest.mark.parametrize("column", ["size = size + 1", "sha256 = zeroblob(32)"])
def test_size_and_hash_beside_the_bytes_are_healed_with_them(ada: Machine, column: str) -> None:
    with closing(sqlite3.connect(ada.context.home.vault_folder(ada.agent.id) / "vault.db")) as database, database:
        place = "(select object from entry where path = 'raw/openclaw/SOUL.md')"
        assert database.execute(f"update object set {column} where id = {place}").rowcount
    found = samples_and_drills.drill_vault(ada.context, ada.known_agent)
    assert (found.mismatches, len(found.healed)) == ([], 1)
    assert is_whole(ada)


@pytest.mark.parametrize("change", ["update record set last = 9", "delete from bucket where number = 7"])
def test_the_daily_sample_mends_what_the_next_capture_builds_on(ada: Machine, change: str) -> None:
    before = ada.records()
    with closing(sqlite3.connect(ada.context.home.vault_folder(ada.agent.id) / "vault.db")) as database, database:
        assert database.execute(change).rowcount
    found = samples_and_drills.sample_vault(ada.context, ada.known_agent)
    assert (len(found.healed), found.mismatches) == (1, [])
    ada.write("SOUL.md", "# Soul\n\nBe brief.\n")
    ada.capture()
    assert ada.records() == before
    assert is_whole(ada)


def test_the_daily_sample_heals_from_a_remote(ada: Machine, tmp_path: Path) -> None:
    (tmp_path / "stick").mkdir()
    ada.add_remote("stick", (tmp_path / "stick").as_uri())
    ada.push("stick")
    flip_record(ada)
    found = samples_and_drills.sample_vault(ada.context, ada.known_agent)
    assert (len(found.healed), found.mismatches) == (1, [])
    assert is_whole(ada)


@pytest.mark.parametrize("sealed", [True, False])
@pytest.mark.parametrize("path", ["artifacts/pic.png", "raw/openclaw/SOUL.md", "identity.json"])
def test_verify_heals_from_a_remote(ada: Machine, tmp_path: Path, path: str, sealed: bool) -> None:
    (tmp_path / "stick").mkdir()
    ada.add_remote("stick", (tmp_path / "stick").as_uri(), sealed=sealed)
    ada.push("stick")
    flip(ada, path)
    shutil.rmtree(ada.workspace)
    found = samples_and_drills.drill_vault(ada.context, ada.known_agent)
    assert found.mismatches == []
    assert any("from stick" in each for each in found.healed)


def test_verify_heals_a_record_from_a_remote(ada: Machine, tmp_path: Path) -> None:
    (tmp_path / "stick").mkdir()
    ada.add_remote("stick", (tmp_path / "stick").as_uri())
    ada.push("stick")
    flip_record(ada)
    found = samples_and_drills.drill_vault(ada.context, ada.known_agent)
    assert found.mismatches == []
    assert any(each.startswith("the damaged content of memory ") for each in found.healed)


def test_a_remote_that_cannot_be_asked_is_named(ada: Machine, tmp_path: Path) -> None:
    (tmp_path / "stick").mkdir()
    ada.add_remote("stick", (tmp_path / "stick").as_uri())
    ada.push("stick")
    shutil.rmtree(tmp_path / "stick")
    (ada.workspace / "pic.png").unlink()
    flip(ada, "artifacts/pic.png")
    found = samples_and_drills.drill_vault(ada.context, ada.known_agent)
    assert any(each.startswith("damaged data could not be requested from stick") for each in found.mismatches)
    assert any(each.startswith("pic.png: ") for each in found.mismatches)


def test_an_older_version_that_is_a_patch_on_damaged_bytes_is_healed_with_them(ada: Machine) -> None:
    text = "".join(f"Line {number} of a long text about the harbour.\n" for number in range(400))
    ada.write("notes.txt", text)
    ada.capture()
    ada.write("notes.txt", text + "One more line.\n")
    ada.capture()
    ada.write("notes.txt", text)
    with closing(sqlite3.connect(ada.context.home.vault_folder(ada.agent.id) / "vault.db")) as database, database:
        (base,) = database.execute("select base from object where base is not null").fetchone()
        (body,) = database.execute("select body from object where id = ?", (base,)).fetchone()
        database.execute("update object set body = ? where id = ?", (_flipped(body), base))
    found = samples_and_drills.drill_vault(ada.context, ada.known_agent, whole=True)
    assert found.mismatches == []
    assert found.healed == ["the damaged content of notes.txt was repaired from the workspace"]


def test_what_is_captured_after_the_damage_stays_whole_when_it_is_healed(ada: Machine, tmp_path: Path) -> None:
    """A new version must not rest on bytes that healing takes away."""
    (tmp_path / "stick").mkdir()
    ada.add_remote("stick", (tmp_path / "stick").as_uri())
    text = "".join(f"Line {number} of a long text about the harbour.\n" for number in range(400))
    ada.write("notes.txt", text)
    ada.capture_and_push("stick")
    with closing(sqlite3.connect(ada.context.home.vault_folder(ada.agent.id) / "vault.db")) as database, database:
        wrong = text.replace("Line 7 ", "Line 8 ").encode()
        changed = database.execute(
            """update object set body = ?, coding = 'plain', base = null
               where id = (select object from entry where path = 'artifacts/notes.txt')""",
            (wrong,),
        )
        assert changed.rowcount == 1
    ada.write("notes.txt", text.replace("Line 7 ", "Line 8 ") + "One more line.\n")
    ada.capture()
    (ada.workspace / "notes.txt").unlink()
    found = samples_and_drills.drill_vault(ada.context, ada.known_agent, whole=True)
    assert found.mismatches == []
    assert found.healed == ["the damaged content of notes.txt was repaired from stick"]


def test_a_capture_of_the_same_bytes_heals_them(ada: Machine) -> None:
    """Content that is here already is not kept twice, so it has to be what it was."""
    flip(ada, "artifacts/pic.png")
    (ada.workspace / "pic.png").rename(ada.workspace / "moved.png")
    ada.capture()
    assert ada.body("artifacts/moved.png") == PICTURE
    assert is_whole(ada)


def test_the_command_says_what_was_healed(
    ada: Machine, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("HOME", "LIFEBOAT_HOME"):
        monkeypatch.setenv(name, ada.context.environment[name])
    flip(ada, "artifacts/pic.png")
    assert cli_client.run("restore", "ada", "--to", ada.folder / "copy", "--no-reindex", expect=1)["left_out"]
    document = cli_client.run("verify", "ada")
    assert document["healed"] == ["the damaged content of pic.png was repaired from the workspace"]
    assert cli_client.run("restore", "ada", "--to", ada.folder / "other", "--no-reindex")["left_out"] == []
