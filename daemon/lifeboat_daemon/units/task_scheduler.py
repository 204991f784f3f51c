"""The service as a task of Windows. The tests of this project check its document only; they do not run on Windows.

A task cannot set variables, so a start with variables runs a line of Python that sets them.
"""

from __future__ import annotations

import json
import ntpath
import os
import re
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree

from lifeboat_core.home.path_variables import HOME as HOME_VARIABLE
from lifeboat_daemon.units.service_unit import (
    ToolResult,
    UnitProgram,
    UnitState,
    is_unit_of_home,
    refuse_other_home,
    require_success,
    run_tool,
    write_unit_file,
)

if TYPE_CHECKING:
    from lifeboat_core.home.context import Context

NAME = "Agent Lifeboat"
_SPACE = "http://schemas.microsoft.com/windows/2004/02/mit/task"
_MODULE = "lifeboat_daemon.service"
_SET = re.compile(r"os\.environ\.update\(json\.loads\((.*?)\)\); runpy")
_FOREVER = "PT0S"
_SETTINGS = (
    ("MultipleInstancesPolicy", "IgnoreNew"),
    ("DisallowStartIfOnBatteries", "false"),
    ("StopIfGoingOnBatteries", "false"),
    ("AllowHardTerminate", "true"),
    ("StartWhenAvailable", "true"),
    ("RunOnlyIfNetworkAvailable", "false"),
    ("AllowStartOnDemand", "true"),
    ("Enabled", "true"),
    ("Hidden", "false"),
    ("RunOnlyIfIdle", "false"),
    ("WakeToRun", "false"),
    ("ExecutionTimeLimit", _FOREVER),
    ("Priority", "7"),
)
_RESTARTS = (("Interval", "PT1M"), ("Count", "255"))


def render_task(program: UnitProgram, user: str) -> bytes:
    r"""Return the task's document, in UTF-16 as `schtasks` requires. `user` is the account (`DOMAIN\name`)."""
    ElementTree.register_namespace("", _SPACE)
    task = ElementTree.Element(_tag("Task"), {"version": "1.2"})
    _add(task, "RegistrationInfo", (("Description", "Captures every change of your AI agents"),))
    _add(_add(task, "Triggers"), "LogonTrigger", (("Enabled", "true"), ("UserId", user)))
    principal = (("UserId", user), ("LogonType", "InteractiveToken"), ("RunLevel", "LeastPrivilege"))
    _add(_add(task, "Principals"), "Principal", principal).set("id", "Author")
    _add(_add(task, "Settings", _SETTINGS), "RestartOnFailure", _RESTARTS)
    actions = _add(task, "Actions")
    actions.set("Context", "Author")
    command, *arguments = _command(program)
    _add(actions, "Exec", (("Command", command), ("Arguments", subprocess.list2cmdline(arguments))))
    text: str = ElementTree.tostring(task, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-16"?>\r\n{text}'.encode("utf-16")


def _tag(name: str) -> str:
    return f"{{{_SPACE}}}{name}"


def _add(parent: ElementTree.Element, name: str, texts: tuple[tuple[str, str], ...] = ()) -> ElementTree.Element:
    made = ElementTree.SubElement(parent, _tag(name))
    for key, text in texts:
        ElementTree.SubElement(made, _tag(key)).text = text
    return made


def _command(program: UnitProgram) -> list[str]:
    """Return the command. `pythonw` opens no window. Common variables such as `PATH` are inherited; only our own are
    set."""
    interpreter, *arguments = program.command
    folder, name = ntpath.split(interpreter)
    if name.lower() == "python.exe":
        interpreter = ntpath.join(folder, "pythonw.exe")
    ours = {name: value for name, value in program.variables.items() if name not in ("PATH", "HOMEBREW_PREFIX")}
    if not ours:
        return [interpreter, *arguments]
    at = arguments.index("-m")
    options, rest = arguments[:at], arguments[at + 2 :]
    line = f"import json, os, runpy; os.environ.update(json.loads({json.dumps(ours)!r})); "
    return [interpreter, *options, "-c", f"{line}runpy.run_module({_MODULE!r}, run_name='__main__')", *rest]


class TaskScheduler:
    """The task scheduler, for this user."""

    def __init__(self, context: Context) -> None:
        self._context = context

    @property
    def path(self) -> Path:
        return self._context.home.state_folder / "service-task.xml"

    def text(self) -> str:
        return render_task(UnitProgram.of(self._context), self._user()).decode("utf-16")

    def install(self, *, start: bool) -> list[str]:
        refuse_other_home(self.state(), self._context)
        write_unit_file(self._context, self.path, render_task(UnitProgram.of(self._context), self._user()))
        require_success(
            self._ask("/Create", "/TN", NAME, "/XML", str(self.path), "/F"),
            "the Task Scheduler could not create the task",
        )
        done = [f"The task '{NAME}' is in the Task Scheduler.", "The daemon starts when you log in."]
        if start:
            self.start()
            done.append("The daemon is running.")
        return done

    def uninstall(self) -> list[str]:
        if self._ask("/Query", "/TN", NAME).status != 0:
            return ["No service is installed."]
        self._ask("/End", "/TN", NAME)
        require_success(self._ask("/Delete", "/TN", NAME, "/F"), "the Task Scheduler could not remove the task")
        self.path.unlink(missing_ok=True)
        return [f"The task '{NAME}' was removed."]

    def state(self) -> UnitState:
        """Return the state. `schtasks` reports a running task in the language of the system, so the control socket is
        asked instead."""
        ran = self._ask("/Query", "/TN", NAME, "/XML")
        if ran.status != 0:
            return UnitState("task_scheduler", problem=ran.said if ran.status is None else None)
        command, arguments = _action(ran.output)
        home = _home_in(arguments)
        wanted = _command(UnitProgram.of(self._context))
        return UnitState(
            "task_scheduler",
            path=self.path,
            home=home,
            ours=is_unit_of_home(self._context, home),
            current=command == wanted[0] and _MODULE in arguments,
            program=command,
            program_found=command is not None and os.path.exists(command),
            enabled=True,
        )

    def start(self) -> None:
        require_success(self._ask("/Run", "/TN", NAME), "the Task Scheduler could not start the task")

    def stop(self) -> None:
        require_success(self._ask("/End", "/TN", NAME), "the Task Scheduler could not stop the task")

    def _user(self) -> str:
        around = self._context.environment
        name = around.get("USERNAME") or around.get("USER") or ""
        domain = around.get("USERDOMAIN")
        return f"{domain}\\{name}" if domain else name

    def _ask(self, *arguments: str) -> ToolResult:
        return run_tool(self._context, ("schtasks", *arguments))


def _action(document: str) -> tuple[str | None, str]:
    """Return the program of a task and its arguments."""
    try:
        task = ElementTree.fromstring(re.sub(r"^.*?<\?xml.*?\?>", "", document.strip(), count=1, flags=re.DOTALL))
    except ElementTree.ParseError:
        return None, ""
    found = task.find(f".//{_tag('Exec')}")
    if found is None:
        return None, ""
    return found.findtext(_tag("Command")), found.findtext(_tag("Arguments")) or ""


def _home_in(arguments: str) -> str | None:
    """Return the LIFEBOAT_HOME that a line sets. A command line escapes quotes, and paths on Windows contain none."""
    found = _SET.search(arguments)
    if found is None:
        return None
    home = re.search(rf'{HOME_VARIABLE}\\?": \\?"(.*?)\\?"', found[1])
    return home[1].replace("\\\\\\\\", "\\") if home else None
