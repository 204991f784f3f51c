"""What the service managers of Linux, macOS and Windows have in common."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

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
"""Variables that a service is started with as they were when it was installed: they say where the home, the runtimes
and the programs are. `LIFEBOAT_PASSPHRASE` is none of them: a secret does not belong into a unit."""
PATIENCE = 20.0
"""Seconds that a service manager is given for an answer."""
START_PATIENCE = 90.0
WITHOUT_MANAGER = "lifeboat daemon start"


@dataclass(frozen=True, slots=True)
class UnitState:
    """How the service of this user stands with the system. `manager` is systemd, launchd or task_scheduler. `path` is
    the unit's file, None when there is none. None elsewhere: nobody could tell. `home` is the home that it serves,
    None for the usual one; `ours` whether that is this home; `current` whether the file is what this release writes;
    `program` what it starts, `program_found` whether that is there; `lingering` whether it runs without a login;
    `problem` why the manager did not answer."""

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
        """What a unit's file alone says, without its manager."""
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

    def to_json(self) -> dict[str, Any]:
        document = asdict(self)
        document["path"] = None if self.path is None else str(self.path)
        return {"installed": self.installed} | document


@dataclass(frozen=True, slots=True)
class ToolResult:
    """How a tool of the system ended. `status` is None when it could not be started or took too long."""

    status: int | None
    output: str
    errors: str

    @property
    def said(self) -> str:
        """The last line of what it complained of, else of what it printed."""
        lines = [
            line.strip() for text in (self.errors, self.output) for line in text.splitlines()[::-1] if line.strip()
        ]
        return lines[0] if lines else "it said nothing"


@dataclass(frozen=True, slots=True)
class UnitProgram:
    """What a unit starts: this interpreter, with the variables that matter. `-P` keeps the folder that it is started in
    from being searched for modules."""

    command: tuple[str, ...] = ()
    variables: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, context: Context) -> UnitProgram:
        found = {name: context.environment[name] for name in VARIABLES if context.environment.get(name)}
        if HOME_VARIABLE in found:
            found[HOME_VARIABLE] = str(context.home.folder)
        return cls(make_python_command("-m", "lifeboat_daemon.service", "--wait"), found)


class ServiceManager(Protocol):
    """A service manager. What changes something returns what was done, in sentences for people, and may be repeated."""

    @property
    def path(self) -> Path:
        """The file that `install` writes."""
        ...

    def text(self) -> str:
        """What it writes."""
        ...

    def install(self, *, start: bool) -> list[str]:
        """Raises ServiceError.UNIT."""
        ...

    def uninstall(self) -> list[str]:
        """Raises ServiceError.UNIT."""
        ...

    def state(self) -> UnitState:
        """Never raises for a manager that is not there: it says so."""
        ...

    def start(self) -> None:
        """Start it, or leave it running. Raises ServiceError.UNIT."""
        ...

    def stop(self) -> None:
        """Stop it, and leave it stopped until the next login or `start`. Raises ServiceError.UNIT."""
        ...


def run_tool(context: Context, command: Sequence[str], *, patience: float = PATIENCE, **more: str) -> ToolResult:
    """Run a tool of the system with a time limit; `more` are further variables. Never raises."""
    ran = run_child(command, environment={**context.environment, "LC_ALL": "C", **more}, seconds=patience)
    if ran.exit_status is None:
        problem = f"gave no answer for {patience:.0f} seconds" if ran.timed_out else ran.problem
        return ToolResult(None, "", f"{command[0]} {problem}")
    return ToolResult(ran.exit_status, _text(ran.output), _text(ran.errors))


def _text(data: bytes) -> str:
    """Windows tools write UTF-16 now and then."""
    return data.decode("utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8", errors="replace")


def require_success(ran: ToolResult, what: str) -> ToolResult:
    """Raises ServiceError.UNIT, with what the tool said, when it failed."""
    if ran.status != 0:
        raise ServiceError.UNIT(f"{what}: {ran.said}", fix=WITHOUT_MANAGER)
    return ran


def write_unit_file(context: Context, path: Path, data: bytes) -> bool:
    """Write a unit's file for its owner alone; False when it held that already. Raises SystemRefused, DiskFull."""
    with convert_system_errors():
        try:
            if read_all(context.files, path) == data:
                return False
        except FileNotFoundError:
            context.files.make_folders(path.parent)
        write_atomic(context.files, path, data)
    return True


def describe_unit_change(path: Path, *, changed: bool) -> str:
    """What `write_unit_file` did, for people."""
    return f"{path} {'written' if changed else 'is as it should be'}."


def read_unit_file(context: Context, path: Path) -> str | None:
    """A unit's file, None when it is not there or cannot be read."""
    try:
        return read_all(context.files, path).decode()
    except (OSError, UnicodeDecodeError):
        return None


def refuse_other_home(state: UnitState, context: Context) -> None:
    """One user has one service. Raises ServiceError.UNIT when it serves another home."""
    if state.installed and not state.ours:
        other = state.home or "the usual home"
        raise ServiceError.UNIT(
            f"the service is installed for {other}, and this home is {context.home.folder}",
            fix="lifeboat service uninstall --force",
        )


def is_unit_of_home(context: Context, home: str | None) -> bool:
    """Whether a unit with this LIFEBOAT_HOME (None: without) serves the home of this command."""
    named = {name: value for name, value in context.environment.items() if name != HOME_VARIABLE}
    return Home.locate(named | ({HOME_VARIABLE: home} if home else {})).folder == context.home.folder
