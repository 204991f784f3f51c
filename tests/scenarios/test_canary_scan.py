"""The scanner finds what it is there to find: each spelling and each packing is planted once and found."""

from __future__ import annotations

import base64
import gzip
import hashlib
import io
import json
import sqlite3
import subprocess
import sys
import zipfile
import zlib
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

import pytest

from support.adapters import canaries
from support.adapters.canaries import CANARIES, PIN, canary
from support.adapters.canary_planting import plant
from support.adapters.canary_scan import Scanner, zstd
from support.adapters.openclaw_workspaces import NEW, OLD

PLACE = ".env: bare"
SECRET = canary(PLACE).encode()
SCANNER = Scanner.of(CANARIES)
LETTERS = base64.b64encode(b"".join(hashlib.sha256(bytes((n,))).digest() for n in range(40)))
"""What compressors code in bits, so that a secret beside it is not seen as bytes."""
AMONG_LETTERS = LETTERS[:900] + SECRET + LETTERS[900:]


def _zipped(data: bytes, method: int = zipfile.ZIP_DEFLATED) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        archive.writestr("note", b"." * 100 + data + b"." * 100)
    return out.getvalue()


SPELLED = {
    "as it is": SECRET,
    "in small letters": SECRET.lower(),
    "utf-16 little endian": SECRET.decode().encode("utf-16-le"),
    "utf-16 big endian": SECRET.decode().encode("utf-16-be"),
    **{f"base64 after {before} bytes": base64.b64encode(b"u:"[:before] + SECRET + b"!") for before in range(3)},
    "base64 for addresses": base64.urlsafe_b64encode(b"\xfb\xff" + SECRET),
    "hexadecimal": SECRET.hex().encode(),
    "hexadecimal, large": SECRET.hex().upper().encode(),
    "percent-encoded": "".join(f"%{byte:02X}" for byte in SECRET).encode(),
    "a query": quote(SECRET, safe="").encode(),
    "escaped as in JSON": "".join(f"\\u{byte:04x}" for byte in SECRET).encode(),
    "its first half": SECRET[:20],
    "its second half": SECRET[20:],
}

PACKED = {
    "zip": _zipped(SECRET),
    "stored in a zip": _zipped(SECRET, zipfile.ZIP_STORED),
    "half a zip": _zipped(SECRET)[:150],
    "zlib": zlib.compress(AMONG_LETTERS),
    "gzip": gzip.compress(AMONG_LETTERS),
    "zstd": zstd.compress(AMONG_LETTERS),
    "a zip in zstd": zstd.compress(_zipped(SECRET)),
    "zlib in a zip": _zipped(zlib.compress(AMONG_LETTERS)),
    "base64 in zstd": zstd.compress(LETTERS + base64.b64encode(SECRET)),
}


@pytest.mark.parametrize("spelling", SPELLED)
def test_a_spelling_is_found(spelling: str) -> None:
    assert SCANNER.data(b"before " + SPELLED[spelling] + b" after", "here")


@pytest.mark.parametrize("packing", PACKED)
def test_a_packing_is_opened(packing: str) -> None:
    if "stored" not in packing:
        assert SECRET not in PACKED[packing]
    found = SCANNER.data(b"\0\1\2" + PACKED[packing] + b"\0\1\2", "here")
    assert PLACE in {leak.place for leak in found}


def test_a_leak_names_the_place_that_the_secret_is_from() -> None:
    for one in CANARIES:
        assert {leak.place for leak in SCANNER.data(b"x" + one.value.encode() + b"x", "here")} == {one.place}


def test_a_short_secret_is_found_as_a_word_of_its_own() -> None:
    assert SCANNER.data(f'{{"pin": "{PIN}"}}'.encode(), "here")
    assert not SCANNER.data(f'{{"time": "12:00:00.{PIN}Z", "hash": "ab{PIN}cd"}}'.encode(), "here")


def test_what_holds_no_canary_is_clean() -> None:
    assert SCANNER.data(json.dumps({"key": "sk-example-of-another-kind"}).encode() * 100, "here") == []


def _database(path: Path, statement: str, *values: object) -> sqlite3.Connection:
    connection = sqlite3.connect(path)
    connection.executescript("pragma journal_mode=wal; create table kept(value)")
    connection.execute(statement, values)
    connection.commit()
    return connection


def test_values_in_a_database_are_found_compressed_or_not(tmp_path: Path) -> None:
    for name, value in (("plain", SECRET), ("packed", zstd.compress(AMONG_LETTERS))):
        with closing(_database(tmp_path / f"{name}.db", "insert into kept values (?)", value)):
            pass
        assert SCANNER.file(tmp_path / f"{name}.db")


def test_free_pages_of_a_database_are_read(tmp_path: Path) -> None:
    with closing(_database(tmp_path / "a.db", "insert into kept values (?)", SECRET + b"." * 9000)) as connection:
        connection.execute("pragma secure_delete=off")
        connection.execute("delete from kept")
        connection.commit()
    assert SCANNER.file(tmp_path / "a.db")


def test_the_log_of_a_database_is_read(tmp_path: Path) -> None:
    with closing(_database(tmp_path / "a.db", "insert into kept values (?)", SECRET)):
        assert {Path(leak.where).name for leak in SCANNER.folders(tmp_path)} >= {"a.db-wal"}


def test_a_name_of_a_file_is_read(tmp_path: Path) -> None:
    (tmp_path / SECRET.decode()).touch()
    assert SCANNER.folders(tmp_path)


def test_a_running_programs_command_line_and_environment_are_read() -> None:
    wait = "import sys; print(flush=True); sys.stdin.read()"
    for arguments, environment in (((SECRET.decode(),), {}), ((), {"KEY": SECRET.decode()})):
        program = subprocess.Popen(
            [sys.executable, "-c", wait, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment
        )
        try:
            assert program.stdout is not None and program.stdout.readline()
            assert SCANNER.process(program.pid)
        finally:
            program.communicate()


@pytest.mark.parametrize("generation", [OLD, NEW])
def test_every_canary_is_planted(tmp_path: Path, generation: str) -> None:
    """Each place of the table holds its own value; a place that is not planted would prove nothing."""
    state = plant(tmp_path / ".openclaw", generation)
    data = b"".join(path.read_bytes() for path in sorted(state.folder.rglob("*")) if path.is_file())
    spelled = {one.place: json.dumps(one.value)[1:-1] for one in CANARIES if generation in one.generations}
    missing = [
        place
        for place, text in spelled.items()
        if text.encode() not in data and f"\\u{ord(text[0]):04x}{text[1:]}".encode() not in data
    ]
    assert missing == []
    assert SCANNER.folders(tmp_path)


def test_canaries_are_distinct_and_long() -> None:
    values = [one.value for one in CANARIES] + [canaries.rotated(one.place) for one in CANARIES]
    assert len(set(values)) == len(values)
    assert all(len(value) >= 20 for value in values)
