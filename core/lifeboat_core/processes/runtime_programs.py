"""Run a runtime's own program: a cleaned environment, a time limit, its output without the secrets in it."""

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
"""Bytes at the end of an output that are searched for secrets: more than the stored part, so that no secret is cut in
half."""


@dataclass(frozen=True, slots=True)
class ProgramResult:
    """How a program ended. `exit_status` is None when it could not be started or ran out of time; `output` is the end
    of its standard output and errors together, without what is or looks like a secret."""

    command: tuple[str, ...]
    exit_status: int | None
    output: str
    timed_out: bool = False

    @property
    def ok(self) -> bool:
        return self.exit_status == 0


def clean_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that a program needs; none of Lifeboat's, no tokens."""
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
    """Run a program to its end, or kill its process group at the time limit. Never raises for what goes wrong.

    `redact` removes secrets from the output: a runtime may print its input, or its whole configuration.
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
