"""The service as a unit of systemd, in the user's own service manager (Linux)."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

from lifeboat_core.errors import ServiceError
from lifeboat_core.system_refusals import convert_system_errors
from lifeboat_daemon.units.service_unit import (
    PATIENCE,
    START_PATIENCE,
    WITHOUT_MANAGER,
    ToolResult,
    UnitProgram,
    UnitState,
    describe_unit_change,
    read_unit_file,
    refuse_other_home,
    require_success,
    run_tool,
    write_unit_file,
)

if TYPE_CHECKING:
    from lifeboat_core.home.context import Context

NAME = "lifeboat.service"
_PACKAGED = ("/etc/systemd/user", "/usr/local/lib/systemd/user", "/usr/lib/systemd/user")
_LINGER = Path("/var/lib/systemd/linger")
_VARIABLE = re.compile(r'^Environment="([A-Za-z_][A-Za-z0-9_]*)=(.*)"$', re.MULTILINE)
_COMMAND = re.compile(r"^ExecStart=(.*)$", re.MULTILINE)
_ARGUMENT = re.compile(r'"((?:[^"\\]|\\.)*)"|(\S+)')


def render_unit(program: UnitProgram) -> str:
    """Return the unit that starts a program. Distribution packages use it too, with their own command."""
    template = resources.files("lifeboat_daemon.units").joinpath(NAME).read_text()
    lines = "".join(f'Environment="{name}={_escaped(value)}"\n' for name, value in program.variables.items())
    command = " ".join(_quoted(argument) for argument in program.command)
    return template.replace("@ENVIRONMENT@", lines).replace("@COMMAND@", command)


def _escaped(text: str) -> str:
    """Escape a text for double quotes of systemd, where `%` begins a specifier. Raises ServiceError.UNIT for a text
    that no unit can contain."""
    if any(ord(letter) < 32 for letter in text):
        raise ServiceError.UNIT(f"the service file of systemd must not contain {text!r}", fix=WITHOUT_MANAGER)
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")


def _quoted(argument: str) -> str:
    """Quote a word of a command, where `$` begins a variable."""
    escaped = _escaped(argument).replace("$", "$$")
    return escaped if re.fullmatch(r"[A-Za-z0-9_./:=+@%$-]+", escaped) else f'"{escaped}"'


def _unescaped(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text).replace("%%", "%")


def _program_of(text: str) -> UnitProgram:
    """Return the program that a unit starts."""
    found = _COMMAND.search(text)
    arguments = _ARGUMENT.findall(found[1]) if found else []
    command = tuple(_unescaped(quoted or plain).replace("$$", "$") for quoted, plain in arguments)
    return UnitProgram(command, {name: _unescaped(value) for name, value in _VARIABLE.findall(text)})


class Systemd:
    """systemd, for this user."""

    def __init__(self, context: Context) -> None:
        self._context = context

    @property
    def path(self) -> Path:
        named = self._context.environment.get("XDG_CONFIG_HOME", "")
        configuration = Path(named) if named.startswith("/") else self._context.user_home / ".config"
        return configuration / "systemd" / "user" / NAME

    def text(self) -> str:
        return render_unit(UnitProgram.of(self._context))

    def install(self, *, start: bool) -> list[str]:
        self._need_manager()
        before = self.state()
        refuse_other_home(before, self._context)
        done = self._write(before)
        require_success(self._ask("daemon-reload"), "systemd could not load the service")
        require_success(self._ask("enable", NAME), "systemd could not enable the service")
        done.append("The daemon starts when you log in.")
        if start:
            done.append(self._begin(anew=bool(before.running) and not before.current))
        return done

    def _write(self, before: UnitState) -> list[str]:
        """Write the unit. A unit from a package serves the usual home and is left unchanged."""
        if before.path not in (None, self.path) and before.ours:
            return [f"The service file {before.path} exists already and is used."]
        return [
            describe_unit_change(self.path, changed=write_unit_file(self._context, self.path, self.text().encode()))
        ]

    def _begin(self, *, anew: bool) -> str:
        verb = "restart" if anew else "start"
        require_success(self._ask(verb, NAME, patience=START_PATIENCE), "systemd could not start the service")
        return "The daemon is running."

    def uninstall(self) -> list[str]:
        if not self.path.exists() and self.state().path is None:
            return ["No service is installed."]
        done = []
        ran = self._ask("disable", "--now", NAME, patience=START_PATIENCE)
        if ran.status == 0:
            done.append("The service is stopped and will not start again.")
        if self.path.exists():
            with convert_system_errors():
                self._context.files.remove(self.path)
                self._forget_links()
            done.append(f"{self.path} was removed.")
        self._ask("daemon-reload")
        return done

    def _forget_links(self) -> None:
        """Remove the links that `disable` removes, for when no manager runs."""
        link = self.path.parent / "default.target.wants" / NAME
        if link.is_symlink() and not link.exists():
            self._context.files.remove(link)

    def state(self) -> UnitState:
        path = next((each for each in self._places() if each.is_file()), None)
        text = None if path is None else read_unit_file(self._context, path)
        if path is None or text is None:
            return UnitState("systemd", problem=self._problem())
        program = _program_of(text)
        ran = self._ask("show", NAME, "-p", "ActiveState,MainPID,UnitFileState,NeedDaemonReload")
        told = dict(line.split("=", 1) for line in ran.output.splitlines() if "=" in line) if ran.status == 0 else {}
        current = self._is_current(path, text, program) and told.get("NeedDaemonReload") != "yes"
        return replace(
            UnitState.of_file(self._context, "systemd", path, program, current=current),
            enabled=told["UnitFileState"] in ("enabled", "enabled-runtime") if told.get("UnitFileState") else None,
            running=told["ActiveState"] in ("active", "activating", "reloading") if "ActiveState" in told else None,
            pid=int(told.get("MainPID", "0")) or None,
            lingering=self._lingers(),
            problem=None if ran.status == 0 else _no_manager(ran),
        )

    def _is_current(self, path: Path, text: str, program: UnitProgram) -> bool:
        """Return whether the file is what this release writes. A unit from a package always counts as current."""
        if path != self.path:
            return True
        return text == render_unit(UnitProgram(UnitProgram.of(self._context).command, program.variables))

    def _places(self) -> list[Path]:
        return [self.path, *(Path(folder) / NAME for folder in _PACKAGED)]

    def _lingers(self) -> bool | None:
        """Return whether this user's services run without a login. `loginctl enable-linger` records it in a file."""
        name = self._context.environment.get("USER") or self._context.environment.get("LOGNAME")
        return (_LINGER / name).exists() if name and _LINGER.parent.is_dir() else None

    def start(self) -> None:
        self._need_manager()
        require_success(self._ask("reset-failed", NAME), "systemd does not know the service")
        require_success(self._ask("start", NAME, patience=START_PATIENCE), "systemd could not start the service")

    def stop(self) -> None:
        self._need_manager()
        require_success(self._ask("stop", NAME, patience=START_PATIENCE), "systemd could not stop the service")

    def _need_manager(self) -> None:
        problem = self._problem()
        if problem:
            raise ServiceError.UNIT(problem, fix=WITHOUT_MANAGER)

    def _problem(self) -> str | None:
        ran = self._ask("show", "-p", "Version")
        return None if ran.status == 0 else _no_manager(ran)

    def _ask(self, *arguments: str, patience: float | None = None) -> ToolResult:
        tool = shutil.which("systemctl", path=self._context.environment.get("PATH"))
        if tool is None:
            return ToolResult(None, "", "the program systemctl is not installed")
        command = (tool, "--user", "--no-pager", *arguments)
        return run_tool(self._context, command, patience=patience or PATIENCE, **self._session())

    def _session(self) -> Mapping[str, str]:
        """Return the address of the user's manager, which shells of `su` and `cron` lack in their environment."""
        if self._context.environment.get("XDG_RUNTIME_DIR") or not hasattr(os, "geteuid"):
            return {}
        folder = f"/run/user/{os.geteuid()}"
        return {"XDG_RUNTIME_DIR": folder} if os.path.isdir(folder) else {}


def _no_manager(ran: ToolResult) -> str:
    return f"systemd does not answer for your user: {ran.said}"
