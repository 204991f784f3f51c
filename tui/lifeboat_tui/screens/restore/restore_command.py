"""The user's choices for a restore, and the command built from them. Only this module knows the options of `lifeboat
restore`."""

from __future__ import annotations

import glob
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, replace

from lifeboat_core.texts.human_text import quote_argument


@dataclass(frozen=True, slots=True)
class RestoreChoices:
    """Choices for a restore. `at` is a sequence or a time, None for the newest sequence; `remote` is the source, None
    for this machine; `to` is the directory, None for in place; `runtime` is None for the agent's own. `seen` is the
    code of the unsigned state that the user accepted, None before that. `with_credentials` is None until the user
    decides: then `lifeboat restore` decides, and the preview says how. The other fields correspond to the options of
    `lifeboat restore` with the same names."""

    agent: str
    at: str | None = None
    remote: str | None = None
    to: str | None = None
    runtime: str | None = None
    state_dir: str | None = None
    paths: tuple[str, ...] = ()
    with_credentials: bool | None = None
    with_cron: bool = False
    with_sessions: bool = False
    adopt: bool = False
    finish: bool = False
    accept_unsigned: bool = False
    seen: str | None = None
    take_over: str | None = None

    @property
    def in_place(self) -> bool:
        return self.to is None

    @property
    def is_adopted(self) -> bool:
        """True if the restored agent lives in the target from now on. Only a restore into another directory can be
        adopted."""
        return self.adopt and self.to is not None


def build_restore_command(wanted: RestoreChoices, *, dry_run: bool) -> tuple[str, ...]:
    """Return the command for the preview (`dry_run`) or for the restore."""
    seen = () if dry_run or wanted.seen is None else ("--seen", wanted.seen)
    return ("restore", wanted.agent, "--dry-run" if dry_run else "--yes", *_options(wanted), *seen)


def _options(wanted: RestoreChoices) -> Iterator[str]:
    values = {
        "--at": wanted.at,
        "--from": wanted.remote,
        "--to": wanted.to,
        "--runtime": wanted.runtime,
        "--state-dir": wanted.state_dir,
    }
    for name, value in values.items():
        if value is not None:
            yield from (name, value)
    for path in wanted.paths:
        yield from ("--path", path)
    switches = {
        "--with-credentials": wanted.with_credentials is True,
        "--without-credentials": wanted.with_credentials is False,
        "--with-cron": wanted.with_cron,
        "--with-sessions": wanted.with_sessions,
        "--adopt": wanted.is_adopted,
        "--finish": wanted.finish,
        "--accept-unsigned": wanted.accept_unsigned,
    }
    yield from (name for name, is_wanted in switches.items() if is_wanted)
    if wanted.take_over is not None and wanted.remote is not None and wanted.is_adopted:
        yield from ("--take-over", wanted.take_over)


def limit_to_file(wanted: RestoreChoices, name: str) -> RestoreChoices:
    """Return the choices limited to one file, without scheduled jobs and sessions."""
    return replace(wanted, paths=(glob.escape(name),))


def escape_patterns(names: Iterator[str] | list[str]) -> tuple[str, ...]:
    """Return patterns that match exactly the files of these names."""
    return tuple(glob.escape(name) for name in names)


def unescape_patterns(paths: tuple[str, ...]) -> set[str]:
    """Return the names that escaped patterns stand for. Other patterns are returned unchanged."""
    return {_unescaped(path) for path in paths}


def _unescaped(path: str) -> str:
    for sign in "*?[":
        path = path.replace(f"[{sign}]", sign)
    return path


def parse_patterns(text: str) -> tuple[str, ...]:
    """Split typed patterns like a shell does, honouring quotes. Raises ValueError."""
    return tuple(shlex.split(text))


def format_command(said: tuple[str, ...]) -> str:
    """Return a command quoted for the shell."""
    return " ".join(("lifeboat", *map(quote_argument, said)))
