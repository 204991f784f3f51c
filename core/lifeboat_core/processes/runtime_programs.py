"""Run a runtime's own program: a cleaned environment, a time limit, its output kept without the secrets in it. The only
place that does."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from lifeboat_adapters.secrets.secret_masking import mask_secrets_in_text
from lifeboat_alf.common.refusal_texts import describe_refusal

_PASSED_ON = frozenset(
    {
        "PATH",
        "HOME",
        "USER",
        "LOGNAME",
        "SHELL",
        "LANG",
        "LANGUAGE",
        "TZ",
        "TMPDIR",
        "TEMP",
        "TMP",
        "SYSTEMROOT",
        "USERPROFILE",
        "APPDATA",
        "LOCALAPPDATA",
        "COMSPEC",
        "PATHEXT",
        "NODE_EXTRA_CA_CERTS",
        "SSL_CERT_FILE",
    }
)
_PASSED_ON_BEGINNINGS = ("LC_", "XDG_")
_KEPT_CHARACTERS = 4000
_LOOKED_AT = 256 * 1024
"""Bytes at the end of an output. More than what is kept, so that no half of a secret is taken for something else."""


@dataclass(frozen=True, slots=True)
class ProgramResult:
    """How a program ended. `exit_status` is None when it could not be started or ran out of time; `output` is the end
    of what it printed, standard output and errors together, without what is or looks like a secret."""

    command: tuple[str, ...]
    exit_status: int | None
    output: str
    timed_out: bool = False

    @property
    def ok(self) -> bool:
        return self.exit_status == 0


def clean_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """The variables a program needs to find itself; none of ours, no tokens."""
    return {
        name: value
        for name, value in environment.items()
        if name in _PASSED_ON or name.startswith(_PASSED_ON_BEGINNINGS)
    }


def run_program(
    command: Sequence[str],
    *,
    environment: Mapping[str, str],
    extra: Mapping[str, str] | None = None,
    input: bytes | None = None,
    timeout_seconds: float = 120.0,
    folder: Path | None = None,
    redact: Callable[[str], str] = mask_secrets_in_text,
) -> ProgramResult:
    """Run a program to its end or to its time limit, when its whole process group is ended. Never raises for it.

    `redact` takes the secrets out of its output: a runtime may print what it was told, or its whole configuration.
    """
    try:
        process = subprocess.Popen(
            list(command),
            stdin=subprocess.PIPE if input is not None else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={**clean_environment(environment), **(extra or {})},
            cwd=folder,
            start_new_session=True,
        )
    except OSError as error:
        return ProgramResult(tuple(command), None, describe_refusal(error))
    try:
        output, _ = process.communicate(input, timeout=timeout_seconds)
    except subprocess.TimeoutExpired:
        return ProgramResult(tuple(command), None, _tail(_end(process), redact), timed_out=True)
    except BaseException:  # Ctrl-C: it leads a session of its own, and would go on
        _end(process)
        raise
    return ProgramResult(tuple(command), process.returncode, _tail(output, redact))


def _end(process: subprocess.Popen[bytes]) -> bytes:
    with contextlib.suppress(ProcessLookupError):
        if os.name == "posix":
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    try:
        return process.communicate(timeout=5)[0]
    except subprocess.TimeoutExpired:
        return b""


def _tail(output: bytes | None, redact: Callable[[str], str]) -> str:
    recent = (output or b"")[-_LOOKED_AT:]
    return redact(recent.decode("utf-8", "replace"))[-_KEPT_CHARACTERS:]
