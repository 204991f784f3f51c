"""A known secret is cut out of captures in every encoding, and comes back byte for byte."""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path

import pytest

from lifeboat_adapters.secrets import credential_payload
from lifeboat_adapters.secrets.secret_finder import KnownSecretSearch
from lifeboat_adapters.secrets.secret_masking import find_known_spans
from lifeboat_alf.archive import archive_layout
from lifeboat_keys.signed import credential_sealing
from support import disguises
from support.core.protected import Protected
from support.disguises import DISGUISES, SECRET


def _agent_with(folder: Path, files: dict[str, bytes]) -> Protected:
    made = Protected(folder, config="{}\n")
    made.write(".env", f"ORCHARD_API_KEY={SECRET}\n")
    for path, body in files.items():
        made.write(path, body)
    made.add()
    return made


def _check_cut(made: Protected, files: dict[str, bytes]) -> None:
    sealed = {one["id"]: one for one in made.document(archive_layout.CREDENTIALS)["credentials"]}
    secret = made.context.keys().agent_secret(made.agent.id)
    kept, broken = [], []
    for path, body in files.items():
        entry = next(where for where in ("artifacts/" + path, "raw/openclaw/" + path) if made.meta(where))
        meta = made.meta(entry) or {}
        if not meta.get("cuts"):
            kept.append(path)
            continue
        whole = credential_payload.restore_whole_file(
            entry,
            made.body(entry),
            meta["cuts"],
            lambda key: credential_payload.decode_payload(credential_sealing.unseal_credential(sealed[key], secret)),
        )
        if whole != body:
            broken.append(path)
    assert (kept, broken) == ([], [])


def test_in_files_of_text_and_others(tmp_path: Path) -> None:
    files = {f"d/{name}.bin": make(SECRET) for name, make in DISGUISES.items()}
    _check_cut(_agent_with(tmp_path, files), files)


@pytest.mark.parametrize("encoding", ["UTF-8", "UTF-16le"])
def test_in_rows_of_databases(tmp_path: Path, encoding: str) -> None:
    files = {}
    for name, make in DISGUISES.items():
        disguises.in_a_database(make(SECRET), tmp_path / "made.db", encoding)
        files[f"d/{name}.db"] = (tmp_path / "made.db").read_bytes()
    _check_cut(_agent_with(tmp_path / "agent", files), files)


@pytest.mark.parametrize("encoding", ["UTF-8", "UTF-16le"])
def test_over_two_pages_of_databases(tmp_path: Path, encoding: str) -> None:
    files = {}
    for name, make in DISGUISES.items():
        disguises.over_two_pages(make(SECRET), tmp_path / "made.db", encoding)
        files[f"d/{name}.db"] = (tmp_path / "made.db").read_bytes()
    _check_cut(_agent_with(tmp_path / "agent", files), files)


def test_in_freed_pages_of_databases(tmp_path: Path) -> None:
    file, files = tmp_path / "made.db", dict[str, bytes]()
    for shift in range(8, len(SECRET), 12):
        # SQLite writes the list of freed pages into the first of them.
        disguises.over_two_pages(SECRET.encode(), file, split=shift, page=1)
        with contextlib.closing(sqlite3.connect(file)) as opened:
            opened.execute("pragma secure_delete = off")
            opened.execute("delete from notes where id = 2")
            opened.commit()
        files[f"d/{shift}.db"] = file.read_bytes()
    made = _agent_with(tmp_path / "agent", files)
    _check_cut(made, files)
    assert [path for path in files if SECRET[:8].encode() in made.body(f"artifacts/{path}")] == []


@pytest.mark.parametrize("name", DISGUISES)
def test_in_files_of_three_megabytes(name: str) -> None:
    body = DISGUISES[name](SECRET)
    data = disguises.in_three_megabytes(body)
    begin = data.index(body)
    found = list(find_known_spans(data, KnownSecretSearch([SECRET]).spans))
    assert found
    assert all(begin <= start < end <= begin + len(body) for start, end in found)


def test_in_captured_files_of_three_megabytes(tmp_path: Path) -> None:
    names = [*DISGUISES][::15]
    files = {f"d/{name}.bin": disguises.in_three_megabytes(DISGUISES[name](SECRET)) for name in names}
    _check_cut(_agent_with(tmp_path, files), files)
