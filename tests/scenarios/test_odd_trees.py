"""Trees that are odd but legal: captured, verified, restored elsewhere, and exactly what they were."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from lifeboat_alf.validation.validate_file import validate_archive
from lifeboat_cli.demo.tree_comparison import list_differences, read_tree
from lifeboat_core.capture.capture_run import capture_agent
from lifeboat_core.exchange import export_agent
from lifeboat_core.restore import RestoreOptions, restore_agent
from support.core import invariants
from support.core.harbour import Harbour

HUGE = b"# H\n\n" + b"word and more words here. " * 440_000
SECOND = 1_000_000_000


def comes_back(ada: Harbour, tmp_path: Path) -> None:
    """Captured once and not twice, proven, and the same in another folder and out of a file."""
    number = ada.capture()
    assert not capture_agent(ada.context, ada.agent).changed
    assert not capture_agent(ada.context, ada.agent, full=True).changed
    invariants.a_drill_succeeds(ada.context, ada.agent)
    copy = tmp_path / "copy"
    restore_agent(ada.context, ada.agent, RestoreOptions(at=number, to=copy, reindex=False))
    assert list_differences(ada.trees[number], read_tree(copy)) == []
    invariants.every_kept_sequence_has_its_digest(ada.context, ada.agent)


@pytest.fixture
def ada(protected_ada: Harbour) -> Harbour:
    return protected_ada


def write(ada: Harbour, name: bytes, body: bytes, mtime_ns: int | None = None, mode: int = 0o644) -> None:
    path = os.path.join(os.fsencode(ada.workspace), name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as stream:
        stream.write(body)
    os.chmod(path, mode)
    if mtime_ns is not None:
        os.utime(path, ns=(mtime_ns, mtime_ns))


NAMES = {
    "no UTF-8": [b"memory/caf\xe9.md", b"\xff\xfe", b"folder\xe9/inner.md"],
    "control characters": [b"memory/new\nline.md", b"tab\there \x1b[31m.txt"],
    "as long as they can be": [b"memory/" + b"n" * 252 + b".md", b"\xe9" * 255, ("é" * 127 + "a").encode()],
    "nested deeply": [b"d/" * 100 + b"deep.md", b"memory/" + b"e/" * 100 + b"deep.md"],
    "twins in case": [b"Case.md", b"case.md", b"memory/A/x.md", b"memory/a/x.md"],
    "encoded already": [b"100%25.md", b"%41.md", b"A.md", b"caf%E9.md", b"caf\xe9.md"],
    "odd elsewhere": [
        b"a:b.md",
        b"back\\slash.md",
        b"CON",
        b"aux.txt",
        b"trail.",
        b"trail ",
        b" lead",
        b"*",
        b"?",
        b"-rf",
    ],
    "like those of an archive": [
        b"manifest.json",
        b"lifeboat/files.json",
        b"raw/openclaw/SOUL.md",
        b"artifacts/x",
        b"memory/partitions/2026-Q4.jsonl",
        b"credentials.json",
    ],
    "two forms of one letter": ["memory/\u00e9.md".encode(), "memory/e\u0301.md".encode()],
}


@pytest.mark.parametrize("names", NAMES.values(), ids=NAMES.keys())
def test_odd_names_come_back(ada: Harbour, tmp_path: Path, names: list[bytes]) -> None:
    for number, name in enumerate(names):
        write(ada, name, b"# Title %d\n\nFact %d.\n" % (number, number))
    comes_back(ada, tmp_path)


BODIES = {
    "empty": b"",
    "only line ends": b"\n\n\n",
    "no line end": b"# N\n\nno newline at the end",
    "CRLF": b"# C\r\n\r\nline one\r\n\r\n## D\r\n\r\nline two\r\n",
    "lone CR": b"# C\r\rlone cr\r## X\ry\r",
    "BOM": b"\xef\xbb\xbf# B\n\nbom\n",
    "NUL": b"# N\n\na\0b\n\n## M\n\n\0\0\n",
    "Latin-1": "# M\u00f6we\n\n\u00dcber das Meer\n".encode("latin-1"),
    "UTF-16": "# U\n\nwide\n".encode("utf-16"),
    "a lone surrogate": b"# S\n\n\xed\xa0\x80 x\n",
    "other line separators": "# S\n\nx\u2028y\u0085z\x0cq\x1cw\n\n## T\n\nvt\x0b\n".encode(),
    "escape sequences": b"# \x1b[31mred\n\n\x07bell\n",
    "one huge section": HUGE,
}


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES.keys())
def test_odd_bytes_come_back_as_memory_and_as_an_artifact(ada: Harbour, tmp_path: Path, body: bytes) -> None:
    for name in (b"MEMORY.md", b"memory/odd.md", b"odd.bin"):
        write(ada, name, body)
    comes_back(ada, tmp_path)


@pytest.mark.parametrize(
    "seconds", [0, -1, -400 * 86400, 13_569_465_600], ids=["1970", "a second before", "1968", "2400"]
)
def test_odd_times_come_back_and_travel(ada: Harbour, tmp_path: Path, seconds: int) -> None:
    write(ada, b"memory/odd.md", b"# Odd\n\nOut of time.\n", seconds * SECOND - 7)
    if os.lstat(ada.workspace / "memory" / "odd.md").st_mtime_ns != seconds * SECOND - 7:
        pytest.skip("this file system does not hold such times")
    comes_back(ada, tmp_path)
    archive = tmp_path / "ada.alf"
    export_agent(ada.context, "openclaw", ada.workspace, archive)
    found = validate_archive(archive)
    assert found.ok, found.errors


def test_links_and_empty_folders_come_back(ada: Harbour, tmp_path: Path) -> None:
    (ada.workspace / "to-a-file").symlink_to("MEMORY.md")
    (ada.workspace / "to-nothing").symlink_to("gone/away")
    (ada.workspace / "memory" / "loop").symlink_to(".")
    (ada.workspace / "two\nlines").symlink_to("a\nb")
    os.symlink(b"caf\xe9", os.fsencode(ada.workspace) + b"/bytes")
    os.link(ada.workspace / "MEMORY.md", ada.workspace / "second-name.md")
    (ada.workspace / "x" / "y" / "z").mkdir(parents=True)
    os.mkdir(os.fsencode(ada.workspace) + b"/d\xe9")
    comes_back(ada, tmp_path)


def test_rights_are_kept(ada: Harbour, tmp_path: Path) -> None:
    """All nine bits, also of a file that its owner may not read, where it could be captured."""
    for mode in (0o755, 0o700, 0o600, 0o640, 0o664, 0o444, 0o711):
        write(ada, b"mode-%o" % mode, b"x", mode=mode)
    comes_back(ada, tmp_path)
    write(ada, b"memory/closed.md", b"# Closed\n\nNobody reads this.\n", mode=0)
    if os.geteuid() == 0:
        ada.capture()
        copy = tmp_path / "opened"
        restore_agent(ada.context, ada.agent, RestoreOptions(to=copy, reindex=False))
        assert (copy / "memory" / "closed.md").stat().st_mode & 0o777 == 0
    else:
        assert "raw/openclaw/memory/closed.md" in capture_agent(ada.context, ada.agent).unread


def _file_becomes_folder(folder: Path) -> None:
    (folder / "thing").unlink()
    (folder / "thing").mkdir()
    (folder / "thing" / "inner.md").write_text("# Inner\n")


def _folder_becomes_file(folder: Path) -> None:
    shutil.rmtree(folder / "notes")
    (folder / "notes").write_text("a file now\n")


def _link_becomes_file(folder: Path) -> None:
    (folder / "link").unlink()
    (folder / "link").write_text("a file now\n")


def _file_becomes_link(folder: Path) -> None:
    (folder / "thing").unlink()
    (folder / "thing").symlink_to("notes")


def _memory_moves_as_a_whole(folder: Path) -> None:
    (folder / "memory").rename(folder / "old-memory")
    (folder / "memory").mkdir()
    (folder / "old-memory").rename(folder / "memory" / "archive")


CHANGES = [_file_becomes_folder, _folder_becomes_file, _link_becomes_file, _file_becomes_link, _memory_moves_as_a_whole]


@pytest.mark.parametrize("change", CHANGES)
def test_what_turns_into_another_kind_goes_both_ways(
    ada: Harbour, tmp_path: Path, change: Callable[[Path], None]
) -> None:
    write(ada, b"thing", b"a file\n")
    (ada.workspace / "link").symlink_to("thing")
    before = ada.capture()
    change(ada.workspace)
    comes_back(ada, tmp_path)
    after = ada.head
    for number in (before, after, before):
        restore_agent(ada.context, ada.agent, RestoreOptions(at=number, yes=True, reindex=False))
        assert list_differences(ada.trees[number], read_tree(ada.workspace)) == []
    invariants.always(ada.context, ada.agent, ada.trees)


def test_a_file_over_the_limit_is_named_and_never_read(ada: Harbour) -> None:
    with (ada.workspace / "sparse.bin").open("wb") as stream:
        stream.truncate(1 << 30)
    report = capture_agent(ada.context, ada.agent)
    assert "artifacts/sparse.bin" in report.left_out
    assert ada.head == 0


def test_a_change_within_the_same_second_and_of_the_same_size_is_seen(ada: Harbour) -> None:
    note = ada.workspace / "MEMORY.md"
    for text in ("one one one\n", "two two two\n", "six six six\n"):
        moment = os.lstat(note).st_mtime_ns
        note.write_text(text)
        os.utime(note, ns=(moment, moment))
        assert capture_agent(ada.context, ada.agent).changed
        with ada.context.vault(ada.agent.id) as vault:
            assert vault.state().body("raw/openclaw/MEMORY.md") == text.encode()
