"""What is locked, compared with a vulnerability database that lies on this machine."""

from __future__ import annotations

import json
import zipfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import audit

NOW = datetime(2026, 11, 24, tzinfo=UTC)


def osv(folder: Path, *, events: list[dict[str, str]], modified: datetime = NOW, **more: Any) -> audit.Database:
    folder.mkdir(exist_ok=True)
    package = {"name": "Some_Library", "ecosystem": "PyPI"}
    affected = [{"package": package, "ranges": [{"type": "ECOSYSTEM", "events": events}], **more}]
    document = {"id": "PYSEC-1", "modified": modified.isoformat(), "affected": affected}
    (folder / "PYSEC-1.json").write_text(json.dumps(document))
    found = audit.read_osv(folder)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("version", "status"),
    [("0.9", audit.CLEAN), ("1.0", audit.FOUND), ("1.4.9", audit.FOUND), ("1.5", audit.CLEAN), ("2.1", audit.FOUND)],
)
def test_a_range_has_a_beginning_and_an_end(
    tmp_path: Path, version: str, status: int, capsys: pytest.CaptureFixture[str]
) -> None:
    events = [{"introduced": "1.0"}, {"fixed": "1.5"}, {"introduced": "2"}, {"last_affected": "2.1"}]
    assert audit.report(osv(tmp_path, events=events), {("some-library", version)}, NOW) == status
    assert ("some-library" in capsys.readouterr().out) == (status == audit.FOUND)


def test_everything_from_the_beginning_and_single_versions_are_affected(tmp_path: Path) -> None:
    database = osv(tmp_path, events=[{"introduced": "0"}, {"fixed": "0.2"}], versions=["3.0", "not a version"])
    found = {version: audit.report(database, {("some-library", version)}, NOW) for version in ("0.1", "0.2", "3.0")}
    assert found == {"0.1": audit.FOUND, "0.2": audit.CLEAN, "3.0": audit.FOUND}


def test_an_old_database_is_no_all_clear(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    database = osv(tmp_path, events=[{"introduced": "9"}], modified=NOW - timedelta(days=61))
    assert audit.report(database, {("some-library", "1.0")}, NOW) == audit.UNKNOWN
    assert "61 days old" in capsys.readouterr().err


def test_without_a_database_it_says_that_it_did_not_check(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(audit, "read_safety_db", lambda: None)
    for arguments in ([], ["--database", str(tmp_path / "none.zip")]):
        assert audit.main(arguments) == audit.UNKNOWN
        assert "Not checked" in capsys.readouterr().err


@pytest.mark.parametrize("content", [b"not a zip", b""])
@pytest.mark.parametrize("is_folder", [True, False])
def test_a_damaged_database_is_neither_an_all_clear_nor_a_finding(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: bytes, *, is_folder: bool
) -> None:
    file = tmp_path / ("PYSEC-1.json" if is_folder else "all.zip")
    file.write_bytes(content)
    assert audit.main(["--database", str(tmp_path if is_folder else file)]) == audit.UNKNOWN
    assert "cannot be read as a database" in capsys.readouterr().err


def test_every_lock_file_is_compared() -> None:
    locks = {str(path.relative_to(audit.ROOT)) for path in audit.ROOT.glob("requirements*.lock")}
    locks |= {str(path.relative_to(audit.ROOT)) for path in (audit.ROOT / "packaging").rglob("*.lock")}
    assert locks == set(audit.LOCKS)


def test_the_locks_are_read_and_an_archive_of_advisories_too(tmp_path: Path) -> None:
    versions = audit.locked_versions()
    assert {"uvicorn", "cryptography", "starlette"} <= {name for name, _ in versions}
    osv(tmp_path / "folder", events=[{"introduced": "0"}])
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
        archive.write(tmp_path / "folder" / "PYSEC-1.json", "PYSEC-1.json")
    found = audit.read_osv(tmp_path / "all.zip")
    assert found is not None and [each.package for each in found.advisories] == ["some-library"]
