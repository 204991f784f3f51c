"""Run a runtime's own program: a cleaned environment, a time limit, its output kept without the secrets in it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from lifeboat_adapters.secrets.secret_masking import mask_secrets_in_text
from lifeboat_keys.child_processes import run_child

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
    ran = run_child(
        command,
        environment={**clean_environment(environment), **(extra or {})},
        seconds=timeout_seconds,
        input=input or b"",
        folder=folder,
        end_of_output=_LOOKED_AT,
    )
    said = redact(ran.output.decode("utf-8", "replace"))[-_KEPT_CHARACTERS:]
    return ProgramResult(tuple(command), ran.exit_status, said or ran.problem, timed_out=ran.timed_out)
