"""The agent itself, led astray: whatever it writes into its workspace, it is captured as far as it can be, in time."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from lifeboat_core.capture.ignore_file import parse_ignore_file
from support.core.protected import Protected
from support.prepared_folders import PreparedFolders

SECONDS = 20
"""Of the processor: far above what any of these takes, far below what they took before they were bounded."""
HUGE = 8 << 40


@pytest.fixture(autouse=True)
def in_time() -> Iterator[None]:
    """What does not end is a failure, not a hanging run."""

    def too_long(number: int, frame: object) -> None:
        raise TimeoutError(f"more than {SECONDS} processor seconds")

    before = signal.signal(signal.SIGPROF, too_long)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    yield
    signal.setitimer(signal.ITIMER_PROF, 0)
    signal.signal(signal.SIGPROF, before)


@pytest.fixture
def ada(prepared_folders: PreparedFolders) -> Protected:
    return prepared_folders.restore("ada before she is led astray", _protected_ada)


def _protected_ada(folder: Path) -> Protected:
    made = Protected(folder, config='{ gateway: { auth: { token: "gateway-token-0123456789abcdef" } } }\n')
    made.add()
    return made


def _sparse(path: Path) -> None:
    path.parent.mkdir(exist_ok=True)
    with path.open("wb") as stream:
        stream.truncate(HUGE)


def _deep_folders(ada: Protected) -> None:
    before = os.getcwd()
    os.chdir(ada.workspace)
    for _ in range(300):
        os.mkdir("d")
        os.chdir("d")
    os.chdir(before)


def _fifo(path: Path) -> None:
    path.parent.mkdir(exist_ok=True)
    path.unlink(missing_ok=True)
    os.mkfifo(path)


def _link(path: Path, target: str) -> None:
    path.unlink(missing_ok=True)
    path.symlink_to(target)


ATTACKS: dict[str, Callable[[Protected], object]] = {
    "a FIFO in the memory": lambda ada: _fifo(ada.workspace / "memory" / "x.md"),
    "a FIFO as configuration": lambda ada: _fifo(ada.state_dir / "openclaw.json"),
    "a FIFO as ignore file": lambda ada: _fifo(ada.workspace / ".lifeboatignore"),
    "a FIFO as database": lambda ada: _fifo(ada.state_dir / "state" / "openclaw.sqlite"),
    "endless zeros as configuration": lambda ada: _link(ada.state_dir / "openclaw.json", "/dev/zero"),
    "endless zeros as identity": lambda ada: _link(ada.workspace / "IDENTITY.md", "/dev/zero"),
    "a sparse note": lambda ada: _sparse(ada.workspace / "huge.md"),
    "a sparse memory": lambda ada: _sparse(ada.workspace / "memory" / "huge.md"),
    "a sparse artifact": lambda ada: _sparse(ada.workspace / "huge.bin"),
    "a sparse .env": lambda ada: _sparse(ada.workspace / ".env"),
    "a sparse configuration": lambda ada: _sparse(ada.state_dir / "openclaw.json"),
    "a sparse ignore file": lambda ada: _sparse(ada.workspace / ".lifeboatignore"),
    "folders in folders": _deep_folders,
    "names with escape sequences": lambda ada: ada.write("a\nb\x1b[31m.md", "x"),
    "JSON in JSON": lambda ada: ada.write_config("{a:" + "[" * 100_000 + "]" * 100_000 + "}"),
    "a number without end": lambda ada: ada.write_config("{ n: 0x" + "f" * 100_000 + "}"),
    "jobs in jobs": lambda ada: ada._write(ada.state_dir / "cron" / "jobs.json", "[" * 100_000, 0o600),
    "a .env of secrets": lambda ada: ada.write(".env", "".join(f"K{n}_TOKEN=value-of-{n:08}\n" for n in range(9000))),
    "a quote without end": lambda ada: ada.write(".env", "B='" + "\\" * 2_000_000),
    "comments without end": lambda ada: ada.write("MEMORY.md", "<!--" * 1_000_000),
    "keys without end": lambda ada: ada.write("MEMORY.md", "-----BEGIN PRIVATE KEY-----" * 200_000),
    "tokens without end": lambda ada: ada.write("MEMORY.md", "eyJ-" * 1_000_000),
    "one line": lambda ada: ada.write("MEMORY.md", "\x01" * 5_000_000),
    "headings": lambda ada: ada.write("MEMORY.md", "# a\n" * 30_000),
    "ignoring with many stars": lambda ada: ada.write(".lifeboatignore", "*a" * 40 + "b\n" + "**/" * 40 + "x\n"),
    "ignoring with many lines": lambda ada: ada.write(".lifeboatignore", "*a*b*c\n" * 30_000),
    "ignoring with many spaces": lambda ada: ada.write(".lifeboatignore", " " * 200_000 + "x\n"),
}


@pytest.mark.parametrize("attack", ATTACKS.values(), ids=ATTACKS.keys())
def test_the_rest_is_captured_all_the_same(ada: Protected, attack: Callable[[Protected], object]) -> None:
    ada.write("a" * 240, "x")
    attack(ada)
    ada.write("SOUL.md", "# Soul\n\nBe kind, and brief.\n")
    ada.capture()
    assert ada.body("raw/openclaw/SOUL.md") == b"# Soul\n\nBe kind, and brief.\n"


def test_what_a_link_leads_to_is_never_read(ada: Protected, tmp_path: Path) -> None:
    (tmp_path / "id_ed25519").write_text("a private key")
    (ada.workspace / "memory").mkdir()
    (ada.workspace / "memory" / "key.md").symlink_to(tmp_path / "id_ed25519")
    (ada.workspace / "all").symlink_to(tmp_path)
    ada.capture()
    kept = ada.kept()
    assert kept["memory/key.md"] == ("link", str(tmp_path / "id_ed25519"))
    assert kept["all"] == ("link", str(tmp_path))
    assert not any(b"a private key" in entry for path in kept.values() for entry in path if isinstance(entry, bytes))


def test_ignoring_everything_is_a_loss_that_is_held(ada: Protected) -> None:
    ada.write("MEMORY.md", "".join(f"## Memory {number}\n\nA thing to keep, {number}.\n\n" for number in range(40)))
    ada.capture()
    ada.write(".lifeboatignore", "*\n")
    report = ada.capture()
    assert report.held
    assert any("A thing to keep" in text for text in ada.memories(1))


def test_a_name_cannot_be_made_to_look_like_another_line(tmp_path: Path) -> None:
    from lifeboat_core.texts.safe_text import block_text as plain

    assert "\x1b" not in plain("a\x1b]0;title\x07b")


@pytest.mark.parametrize(
    ("pattern", "path", "fits"),
    [
        ("*a*b*c", "xaybzc", True),
        ("*a*b*c", "xaybz", False),
        ("a*", "b/abc", True),
        ("/a*", "b/abc", False),
        ("a/**/z", "a/z", True),
        ("a/**/z", "a/b/c/z", True),
        ("a/**/**/z", "a/b/z", True),
        ("a/**", "a", False),
        ("a/**", "a/b/c", True),
        ("**/b/**/z", "a/b/b/z", True),
        ("*.m[dk]", "notes/a.md", True),
        ("a?c", "abc", True),
        ("**", "a/b", True),
    ],
)
def test_patterns_mean_what_they_mean_in_git(pattern: str, path: str, fits: bool) -> None:
    assert parse_ignore_file(pattern).matches(path, is_folder=False) is fits
