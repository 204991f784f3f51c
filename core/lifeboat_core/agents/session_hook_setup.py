"""Install the hook with which a runtime reports the end of a session: carry out an adapter's plan, and report
problems."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import sys
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from lifeboat_adapters.contract import HookSupport
from lifeboat_adapters.errors import HookUnavailable
from lifeboat_adapters.session_hook_plan import HookOrder, HookPlan
from lifeboat_adapters.small_files import read_small
from lifeboat_alf.seams.file_operations import FileOperations, read_all, write_atomic
from lifeboat_core.agents.agent import Agent
from lifeboat_core.agents.locks import home_lock
from lifeboat_core.errors import HookFailed
from lifeboat_core.grants.agent_grant import read_grant
from lifeboat_core.grants.skill.skill_plan import NAME, plan_skill
from lifeboat_core.home.context import Context
from lifeboat_core.home.path_variables import HOME as VARIABLE
from lifeboat_core.machine.runtime_folder import find_real_place, refuse_links
from lifeboat_core.processes import runtime_programs
from lifeboat_core.processes.own_interpreter import make_own_command
from lifeboat_core.system_refusals import convert_system_errors
from lifeboat_core.texts.human_text import quote_argument


def make_hook_order(context: Context, agent: Agent) -> HookOrder:
    """Return what a hook needs to start `lifeboat sync` for an agent."""
    home = context.home.folder if context.environment.get(VARIABLE) else None
    return HookOrder(agent.id, find_own_program(context), home)


def find_own_program(context: Context) -> tuple[str, ...]:
    """Return the words that start this Lifeboat. The first is an absolute path: of the package's link if there is one.

    A hook outlives the shell in which it was installed, so it cannot depend on a PATH.
    """
    script = Path(sys.executable).with_name("lifeboat.exe" if os.name == "nt" else "lifeboat")
    if not (script.is_file() and os.access(script, os.X_OK)):
        return make_own_command()
    found = shutil.which("lifeboat", path=context.environment.get("PATH"))
    if found is not None and os.path.realpath(found) == os.path.realpath(script):
        return (os.path.abspath(found),)
    return (str(script),)


def plan_hook(context: Context, agent: Agent, *, remove: bool = False) -> HookPlan:
    """Return what would be done. Raises NoHook, which names the alternative, and what `locate` raises."""
    installation, hook = context.installation(agent), context.adapter(agent.runtime).hook
    order = make_hook_order(context, agent)
    if remove:
        return HookPlan() if hook is None else _with_skill(hook, agent, hook.remove(installation, order), wanted=False)
    with _fallback_named(context, agent):
        hook = _hook_of(context, agent)
        return _with_skill(hook, agent, hook.install(installation, order), wanted=_has_grant(context, agent))


def _with_skill(hook: HookSupport, agent: Agent, planned: HookPlan, *, wanted: bool) -> HookPlan:
    """Add the skill that explains `lifeboat mcp` to the agent, or its removal, to a plan."""
    if not hook.skills:
        return planned
    folder = agent.workspace / hook.skills
    try:
        present = read_small(folder / NAME, agent.workspace)
    except FileNotFoundError:
        present = None
    except OSError:
        return planned  # a link, or something that is no file: not Lifeboat's
    skill = plan_skill(folder, present, wanted=wanted)
    return replace(planned, write={**planned.write, **skill.write}, remove=(*planned.remove, *skill.remove))


def _has_grant(context: Context, agent: Agent) -> bool:
    with context.vault(agent.id) as vault:
        grant = read_grant(vault)
    return grant is not None and not grant.is_expired(context.now())


def install_hook(context: Context, agent: Agent) -> HookPlan:
    """Make the runtime report the end of this agent's sessions; return what was done, empty if it does already.

    Raises NoHook, and HookFailed, when everything is as before.
    """
    with home_lock(context, "agents hook"):
        planned = plan_hook(context, agent)
        _carry_out(context, agent, planned)
        problem = find_hook_problem(context, agent)
    if problem and not planned.waits:
        raise HookFailed(f"{agent.name}: {problem}", fix=f"lifeboat agents hook {quote_argument(agent.name)} --show")
    return planned


def remove_hook(context: Context, agent: Agent) -> HookPlan:
    """Remove the hook for this agent; return what was done, empty if there was none. Raises HookFailed."""
    with home_lock(context, "agents hook"):
        planned = plan_hook(context, agent, remove=True)
        _carry_out(context, agent, planned)
    return planned


def find_hook_problem(context: Context, agent: Agent) -> str:
    """Return why the end of a session is not reported, "" if it is. Raises what `plan_hook` raises."""
    installation = context.installation(agent)
    with _fallback_named(context, agent):
        return _hook_of(context, agent).problem(installation, make_hook_order(context, agent))


def _hook_of(context: Context, agent: Agent) -> HookSupport:
    """Return the hook of an agent's runtime. Raises HookUnavailable."""
    hook = context.adapter(agent.runtime).hook
    if hook is None:
        raise HookUnavailable(f"{agent.runtime} does not report the end of a session")
    return hook


@contextlib.contextmanager
def _fallback_named(context: Context, agent: Agent) -> Iterator[None]:
    """Name in a refusal what happens without a hook."""
    try:
        yield
    except HookUnavailable as error:
        idle = context.config().get("session.idle", agent.settings).written
        without = (
            "without a hook, Lifeboat assumes that a session has ended when nothing has changed for "
            f"{idle} (setting session.idle)"
        )
        raise HookUnavailable(f"{error.message}; {without}", fix=error.fix) from error


def _carry_out(context: Context, agent: Agent, planned: HookPlan) -> None:
    """Write, run, remove. What was written is undone when a command of the runtime fails. Raises HookFailed."""
    installation, files = context.installation(agent), refuse_links(context.files)
    folder = installation.state_dir or installation.workspace
    write = {find_real_place(path, folder): data for path, data in planned.write.items()}
    edit = {find_real_place(path, folder): change for path, change in planned.edit.items()}
    before = {path: _read(files, path) for path in (*write, *edit)}
    for path, change in edit.items():
        if before[path] != change.before:
            raise HookFailed(f"{path} changed in the meantime, so Lifeboat did not change it")
    changes: dict[Path, bytes | None] = {**write, **{path: change.after for path, change in edit.items()}}
    with convert_system_errors():
        for path, data in changes.items():
            _write(files, path, data)
    try:
        _run_steps(context, planned)
    except HookFailed:
        _put_back(files, before)
        raise
    with convert_system_errors():
        _remove(files, [find_real_place(path, folder) for path in planned.remove])


def _write(files: FileOperations, path: Path, data: bytes | None) -> None:
    """Write a file with the mode that it has, None to remove it."""
    if data is None:
        files.remove(path)
        return
    files.make_folders(path.parent, 0o700)
    mode = 0o600
    with contextlib.suppress(FileNotFoundError):
        mode = stat.S_IMODE(files.lstat(path).st_mode)
    write_atomic(files, path, data, mode=mode)


def _read(files: FileOperations, path: Path) -> bytes | None:
    try:
        return read_all(files, path)
    except OSError:
        return None


def _run_steps(context: Context, planned: HookPlan) -> None:
    for step in planned.steps:
        ran = runtime_programs.run_program(
            step.command,
            environment=context.environment,
            extra=step.environment,
            timeout_seconds=step.timeout_seconds,
        )
        if not ran.ok:
            reason = (
                f"the program did not end within {step.timeout_seconds} seconds"
                if ran.timed_out
                else ran.output.strip() or f"exit status {ran.exit_status}"
            )
            raise HookFailed(f"{Path(step.command[0]).name} {' '.join(step.command[1:])}: {reason}")


def _put_back(files: FileOperations, before: dict[Path, bytes | None]) -> None:
    for path, data in before.items():
        with contextlib.suppress(OSError):
            _write(files, path, data)
    for folder in {path.parent for path, data in before.items() if data is None}:
        for each in (folder, folder.parent):
            with contextlib.suppress(OSError):
                files.remove_folder(each)


def _remove(files: FileOperations, paths: Iterable[Path]) -> None:
    for path in paths:
        with contextlib.suppress(FileNotFoundError):
            if not stat.S_ISDIR(files.lstat(path).st_mode):
                files.remove(path)
            elif not files.scan(path):
                files.remove_folder(path)
