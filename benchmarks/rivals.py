"""Tools measured beside Lifeboat, each used as its documentation recommends."""

from __future__ import annotations

import hashlib
import os
import shutil
import sqlite3
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

from benchmarks import measure

Change = Callable[[int], object]


def _run(*command: str, cwd: Path, **environment: str) -> None:
    subprocess.run(
        command,
        cwd=cwd,
        env=os.environ | environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=True,
    )


def git_commit(tree: Path, store: Path, change: Change, times: int, *, synced: bool) -> list[float] | None:
    """Time `git add -A && git commit` after a change. `synced`: with core.fsync=all instead of git's default."""
    commit = git_committer(tree, store, synced=synced)
    return None if commit is None else measure.repeated(commit, times, before=change)


def git_committer(tree: Path, store: Path, *, synced: bool) -> Change | None:
    """Return a function that runs `git add -A && git commit` in a tree that is committed already."""
    if shutil.which("git") is None:
        return None
    git = _git(tree, store, synced=synced)

    def commit(number: int) -> None:
        _run(*git, "add", "-A", cwd=tree)
        _run(*git, "commit", "-q", "-m", f"change {number}", cwd=tree)

    _run(*git, "init", "-q", cwd=tree)
    commit(-1)
    return commit


def git_push(tree: Path, store: Path, change: Change, times: int) -> list[float] | None:
    """Time `git push` of a commit to a bare repository on the same disk."""
    commit = git_committer(tree, store, synced=False)
    if commit is None:
        return None
    git, bare = _git(tree, store, synced=False), store.with_name("bare.git")
    _run("git", "init", "-q", "--bare", str(bare), cwd=tree)
    push = (*git, "push", "-q", bare.as_uri(), "HEAD:refs/heads/main")
    _run(*push, cwd=tree)

    def commit_change(number: int) -> None:
        change(number)
        commit(number)

    return measure.repeated(lambda _: _run(*push, cwd=tree), times, before=commit_change)


def git_status(tree: Path, store: Path) -> Change | None:
    """Return a function that runs `git status` in a committed tree."""
    git = _git(tree, store, synced=False)
    if git_committer(tree, store, synced=False) is None:
        return None
    return lambda _: _run(*git, "status", "--porcelain", cwd=tree)


def git_rewrite(tree: Path, store: Path, text: str) -> None:
    """Replace a text in every version of every file by one of the same length, and drop the old versions: the fastest
    way with git's own tools. Every commit since the first one with the text gets another id."""
    git = " ".join(_git(tree, store, synced=False))
    replaced = f"sed 's/{text}/{'x' * len(text)}/g'"
    export, load = f"{git} fast-export --all --signed-tags=strip", f"{git} fast-import --quiet --force"
    _run("sh", "-c", f"{export} | {replaced} | {load}", cwd=tree, LC_ALL="C")
    _run("sh", "-c", f"{git} reflog expire --expire=now --all && {git} gc -q --prune=now", cwd=tree)


def _git(tree: Path, store: Path, *, synced: bool) -> tuple[str, ...]:
    who = ("-c", "user.name=bench", "-c", "user.email=bench@example.com", "-c", "gc.auto=0")
    fsync = ("-c", "core.fsync=all") if synced else ()
    return ("git", f"--git-dir={store}", f"--work-tree={tree}", *who, *fsync)


def restic_backup(tree: Path, store: Path, change: Change, times: int) -> list[float] | None:
    """Time `restic backup` after a change, into a repository on the same disk."""
    if shutil.which("restic") is None:
        return None
    secret = {"RESTIC_PASSWORD": "bench", "RESTIC_REPOSITORY": str(store), "RESTIC_CACHE_DIR": f"{store}-cache"}
    _run("restic", "init", "-q", cwd=tree, **secret)

    def backup(_: int) -> None:
        _run("restic", "backup", "-q", ".", cwd=tree, **secret)

    backup(-1)
    return measure.repeated(backup, times, before=change)


def walk(tree: Path) -> int:
    """Walk a tree with scandir and stat only."""
    return sum(1 for _ in _stats(tree))


def _stats(folder: Path | str) -> Iterator[os.stat_result]:
    with os.scandir(folder) as entries:
        for entry in entries:
            yield entry.stat(follow_symlinks=False)
            if entry.is_dir(follow_symlinks=False):
                yield from _stats(entry.path)


def tar_extract(archive: Path, target: Path) -> None:
    """Run `tar x && sync`."""
    target.mkdir()
    _run("sh", "-c", f"tar xf '{archive}' -C '{target}' && sync", cwd=target)


def tar_create(tree: Path, archive: Path) -> None:
    _run("tar", "cf", str(archive), "-C", str(tree), ".", cwd=tree)


def sqlite_backup(database: Path, copy: Path, change: Change, times: int) -> list[float]:
    """Time SQLite's online backup and the hash of its result after a change."""

    def backup(_: int) -> None:
        copy.unlink(missing_ok=True)
        with closing(sqlite3.connect(database)) as source, closing(sqlite3.connect(copy)) as target:
            source.backup(target)
        with copy.open("rb") as stream:
            hashlib.file_digest(stream, "sha256")

    return measure.repeated(backup, times, before=change)
