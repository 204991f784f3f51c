"""The command line as scripts use it, without a process for each command."""

from __future__ import annotations

import contextlib
import io
import json
from pathlib import Path

from lifeboat_alf.common.json_types import JsonObject


def run(*arguments: str | Path, expect: int = 0) -> JsonObject:
    """Run `lifeboat ARGUMENTS --json` and return its document. Fails for another exit status than `expect`."""
    from lifeboat_cli import program

    out, notes = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(notes):
        status = program.run_command([*(str(argument) for argument in arguments), "--json"])
    said = out.getvalue()
    assert status == expect, f"lifeboat {' '.join(map(str, arguments))}: {status}\n{said}\n{notes.getvalue()}"
    document: JsonObject = json.loads(said) if said.strip() else {}
    return document


def run_accepting(*arguments: str | Path, expect: int = 0) -> JsonObject:
    """Run a restore or an import of an unsigned state, with the code from its dry run."""
    words = (*arguments, "--accept-unsigned")
    code = run(*(word for word in words if word != "--yes"), "--dry-run")["seen"]
    return run(*words, *(() if code is None else ("--seen", code)), expect=expect)
