"""What the service managers of Linux, macOS and Windows have in common."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.seams.file_operations import read_all, write_atomic
from lifeboat_core.errors import ServiceError
from lifeboat_core.home.lifeboat_home import Home
from lifeboat_core.home.path_variables import HOME as HOME_VARIABLE
from lifeboat_core.processes.own_interpreter import make_python_command
from lifeboat_core.system_refusals import convert_system_errors
from lifeboat_keys.child_processes import run_child

if TYPE_CHECKING:
    from lifeboat_core.home.context import Context

VARIABLES = (
    HOME_VARIABLE,
    "LIFEBOAT_KEY_FILE",
    "LIFEBOAT_PASSPHRASE_FILE",
    *("OPENCLAW_CONFIG_PATH", "OPENCLAW_HOME", "OPENCLAW_PROFILE", "OPENCLAW_STATE_DIR", "OPENCLAW_WORKSPACE_DIR"),
    *("ZEROCLAW_CONFIG_DIR", "ZEROCLAW_DATA_DIR", "ZEROCLAW_WORKSPACE"),
    *("XDG_DATA_HOME", "HOMEBREW_PREFIX", "PATH"),
)
"""Variables that the service inherits from the installing command: they locate the home, the runtimes and the programs.
`LIFEBOAT_PASSPHRASE` is not among them, because a unit must not contain a secret."""
PATIENCE = 20.0
"""Seconds to wait for an answer of a service manager."""
START_PATIENCE = 90.0
WITHOUT_MANAGER = "lifeboat daemon start"


@dataclass(frozen=True, slots=True)
class UnitState:
    """The state of this user's service. `manager` is systemd, launchd or task_scheduler. `path` is the unit's file, or
    None if there is none. Any other None means unknown. `home` is the home that it serves, None for the usual one;
    `ours` whether that is this home; `current` whether the file is what this release writes; `program` what it starts,
    `program_found` whether that exists; `lingering` whether it runs without a login; `problem` why the manager did not
    answer."""

    manager: str
    path: Path | None = None
    home: str | None = None
    ours: bool = False
    current: bool = False
    program: str | None = None
    program_found: bool = False
    enabled: bool | None = None
    running: bool | None = None
    pid: int | None = None
    lingering: bool | None = None
    problem: str | None = None

    @classmethod
    def of_file(cls, context: Context, manager: str, path: Path, program: UnitProgram, *, current: bool) -> UnitState:
        """Return the state as far as the unit's file alone shows it."""
        home = program.variables.get(HOME_VARIABLE)
        first = program.command[0] if program.command else None
        return cls(
            manager,
            path=path,
            home=home,
            ours=is_unit_of_home(context, home),
            current=current,
            program=first,
            program_found=first is not None and os.access(first, os.X_OK),
        )

    @property
    def installed(self) -> bool:
        return self.path is not None

    def to_json(self) -> JsonObject:
        document = asdict(self)
        document["path"] = None if self.path is None else str(self.path)
        return {"installed": self.installed} | document


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The result of a system tool. `status` is None if it could not be started or took too long."""

    status: int | None
    output: str
    errors: str

    @property
    def said(self) -> str:
        """Return the last line of standard error, or otherwise of standard output."""
        lines = [
            line.strip() for text in (self.errors, self.output) for line in text.splitlines()[::-1] if line.strip()
        ]
        return lines[0] if lines else "no output"


@dataclass(frozen=True, slots=True)
class UnitProgram:
    """What a unit starts: this interpreter, with the relevant variables. `-P` excludes the working directory from the
    search for modules."""

    command: tuple[str, ...] = ()
    variables: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, context: Context) -> UnitProgram:
        found = {name: context.environment[name] for name in VARIABLES if context.environment.get(name)}
        if HOME_VARIABLE in found:
            found[HOME_VARIABLE] = str(context.home.folder)
        return cls(make_python_command("-m", "lifeboat_daemon.service", "--wait"), found)


class ServiceManager(Protocol):
    """A service manager. Methods that change something can be repeated and return, in sentences for people, what was
    done."""

    @property
    def path(self) -> Path:
        """Return the file that `install` writes."""
        ...

    def text(self) -> str:
        """Return the content of the file."""
        ...

    def install(self, *, start: bool) -> list[str]:
        """Install the service. Raises ServiceError.UNIT."""
        ...

    def uninstall(self) -> list[str]:
        """Remove the service. Raises ServiceError.UNIT."""
        ...

    def state(self) -> UnitState:
        """Return the state. Never raises: a missing manager is part of the state."""
        ...

    def start(self) -> None:
        """Start the service, or leave it running. Raises ServiceError.UNIT."""
        ...

    def stop(self) -> None:
        """Stop the service until the next login or `start`. Raises ServiceError.UNIT."""
        ...


def run_tool(context: Context, command: Sequence[str], *, patience: float = PATIENCE, **more: str) -> ToolResult:
    """Run a system tool with a time limit; `more` are additional variables. Never raises."""
    ran = run_child(command, environment={**context.environment, "LC_ALL": "C", **more}, seconds=patience)
    if ran.exit_status is None:
        problem = f"did not answer within {patience:.0f} seconds" if ran.timed_out else ran.problem
        return ToolResult(None, "", f"{command[0]} {problem}")
    return ToolResult(ran.exit_status, _text(ran.output), _text(ran.errors))


def _text(data: bytes) -> str:
    """Decode output. Windows tools sometimes write UTF-16."""
    return data.decode("utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8", errors="replace")


def require_success(ran: ToolResult, failure: str) -> ToolResult:
    """Raise ServiceError.UNIT, with the message of the tool, if it failed."""
    if ran.status != 0:
        raise ServiceError.UNIT(f"{failure}: {ran.said}", fix=WITHOUT_MANAGER)
    return ran


def write_unit_file(context: Context, path: Path, data: bytes) -> bool:
    """Write the file of a unit for its owner only. Return False if it had this content already. Raises SystemRefused,
    DiskFull."""
    with convert_system_errors():
        try:
            if read_all(context.files, path) == data:
                return False
        except FileNotFoundError:
            context.files.make_folders(path.parent)
        write_atomic(context.files, path, data)
    return True


def describe_unit_change(path: Path, *, changed: bool) -> str:
    """Describe for people what `write_unit_file` did."""
    return f"{path} {('written' if changed else 'is up to date')}."


def read_unit_file(context: Context, path: Path) -> str | None:
    """Return the content of a unit's file, or None if it does not exist or cannot be read."""
    try:
        return read_all(context.files, path).decode()
    except (OSError, UnicodeDecodeError):
        return None


def refuse_other_home(state: UnitState, context: Context) -> None:
    """Raise ServiceError.UNIT if the user's only service serves another home."""
    if state.installed and not state.ours:
        other_home = state.home or "the default home"
        raise ServiceError.UNIT(
            f"the service is installed for {other_home}, not for this home, {context.home.folder}",
            fix="lifeboat service uninstall --force",
        )


def is_unit_of_home(context: Context, home: str | None) -> bool:
    """Return whether a unit with this LIFEBOAT_HOME (None: without) serves the home of this command."""
    named = {name: value for name, value in context.environment.items() if name != HOME_VARIABLE}
    return Home.locate(named | ({HOME_VARIABLE: home} if home else {})).folder == context.home.folder
