"""The session of an endpoint command: the folder of the endpoint's data, and the output.

It needs no home of Lifeboat, because a server for other users' agents has none.
"""

from __future__ import annotations

import functools
import os
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

import click

from lifeboat_alf.errors import LifeboatError
from lifeboat_cli.terminal.command_session import ask_typed_word, is_json_wanted
from lifeboat_cli.terminal.output import CommandOutput
from lifeboat_core.errors import RestoreError
from lifeboat_core.home.path_variables import refuse_relative_paths
from lifeboat_core.texts.human_text import quote_argument

if TYPE_CHECKING:
    from lifeboat_endpoint.endpoint import Endpoint
    from lifeboat_endpoint.tenancy.tenant_rows import Tenant

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")
VARIABLE = "LIFEBOAT_ENDPOINT_DATA"

DATA = click.option(
    "--data",
    type=click.Path(path_type=Path),
    metavar="DIR",
    required=True,
    envvar=VARIABLE,
    show_envvar=True,
    help="Folder with the data of the endpoint.",
)


@dataclass(frozen=True, slots=True)
class EndpointSession:
    """One command on the endpoint in `data`."""

    output: CommandOutput
    data: Path

    def open(self) -> Endpoint:
        """Open the endpoint while the context lasts. Raises EndpointError."""
        from lifeboat_endpoint.endpoint import Endpoint

        return Endpoint.open(self.data)

    def command(self, words: str) -> str:
        """Return `lifeboat endpoint WORDS` for this endpoint, as it has to be typed."""
        return f"lifeboat endpoint {words} --data {quote_argument(str(self.data))}"


def endpoint_command(
    function: Callable[Concatenate[EndpointSession, Parameters], Result],
) -> Callable[..., Result]:
    """Give a command `--data`, `--json` and an EndpointSession as its first argument."""

    @DATA
    @click.option("--json", "as_json", is_flag=True, help="Print one JSON document on standard output.")
    @functools.wraps(function)
    def run(*arguments: Any, data: Path, as_json: bool = False, **options: Any) -> Result:
        session = EndpointSession(CommandOutput(as_json=as_json or is_json_wanted()), data)
        refuse_relative_paths(os.environ)
        try:
            return function(session, *arguments, **options)
        except LifeboatError as error:
            adapt_error_for_operators(error)
            error.fix = insert_data_folder(error.fix, data)
            raise
        except OSError as error:
            found = _of_place(error)
            if found is None:
                raise
            raise found from error

    return run


_OF_PLACES = (FileNotFoundError, FileExistsError, IsADirectoryError, NotADirectoryError, PermissionError)


def _of_place(error: OSError) -> LifeboatError | None:
    """Return an error that names a file or folder which cannot be used, with a command that shows why. The doctor of a
    machine does not know these paths. Return None for any other error of the system."""
    from lifeboat_vault.errors import EndpointError

    if not isinstance(error, _OF_PLACES) or error.filename is None:
        return None
    place = os.fsdecode(error.filename)
    shown = place if os.path.lexists(place) else os.path.dirname(place) or "."
    return EndpointError(f"{place}: {error.strerror}", fix=f"ls -ld {quote_argument(shown)}")


_DATA_TITLES = {
    "vault_busy": "The data of the endpoint is locked, or its database does not respond",
    "vault_damaged": "The endpoint's data is damaged",
    "vault_full": "No space is left for the endpoint's data",
    "vault_missing": "A part of the endpoint's data is missing",
    "vault_unusable": "The endpoint's data cannot be read or written",
}
_DATA_FIXES = {
    "vault_damaged": "restore the folder from a backup, then: lifeboat endpoint verify --data DIR",
    "vault_missing": "restore the folder from a backup, then: lifeboat endpoint verify --data DIR",
    "vault_full": "free some space, then repeat the command",
    "vault_unusable": "ls -l DIR",
}


def adapt_error_for_operators(error: LifeboatError) -> None:
    """Adapt a vault's error, which addresses the owner of one agent. Titles and fixes that come from a database or an
    object store stay, because they are more specific."""
    error.title = _DATA_TITLES.get(error.code, error.title)
    if "fix" not in vars(error):
        error.fix = _DATA_FIXES.get(error.code, error.fix)


def insert_data_folder(fix: str | None, data: Path) -> str | None:
    """Return the fix with the folder of this endpoint inserted."""
    return None if fix is None else re.sub(r"\bDIR\b", lambda _: quote_argument(str(data)), fix)


def select_tenants(endpoint: Endpoint, named: str | None) -> list[Tenant]:
    """Return the named tenant, or all. Raises UnknownTenant."""
    return endpoint.control.tenants() if named is None else [endpoint.control.tenant(named)]


def confirm_name(session: EndpointSession, name: str, question: str, *, otherwise: str) -> None:
    """Let the user type the name of what would be destroyed. Raises RestoreError.CONSENT_NEEDED, click.Abort."""
    if session.output.as_json or sys.stdin is None or not sys.stdin.isatty():
        raise RestoreError.CONSENT_NEEDED(otherwise, fix="run the same command with --yes")
    session.output.note(question)
    ask_typed_word(session.output, name)
