"""`lifeboat agents hook`: let the runtime report the end of a session."""

from __future__ import annotations

import shlex

import click

from lifeboat_adapters.session_hook_plan import HookPlan
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_cli.terminal.command_session import CommandSession, session_command
from lifeboat_cli.terminal.help_examples import format_examples
from lifeboat_cli.terminal.option_types import AGENT
from lifeboat_core.agents.agent import Agent, find_agent
from lifeboat_core.texts.human_text import quote_argument

AFTER_SESSION = "after_session"


@click.command(
    short_help="Capture an agent at the end of each session.",
    epilog=format_examples("lifeboat agents hook Juniper", "lifeboat agents hook Juniper --remove"),
)
@click.argument("agent", type=AGENT)
@click.option("--remove", is_flag=True, help="Remove the hook.")
@click.option("--show", is_flag=True, help="Show the files to write and the commands to run; change nothing.")
@session_command
def hook(session: CommandSession, agent: str, remove: bool, show: bool) -> None:
    """Install a hook in the agent's runtime that runs `lifeboat sync` at the end of each session.

    The setting `cadence` = `after_session` needs this hook. The hook starts `lifeboat sync` in the background. The
    configuration of OpenClaw and Hermes is changed only through their own programs. For Claude Code and Codex, the
    command adds an entry to their hook files and keeps all other entries. If the agent has a grant (`lifeboat agents
    grant`), the command also writes a skill that explains `lifeboat mcp` to the folder of the agent's skills.
    """
    from lifeboat_core.agents import session_hook_setup

    found = find_agent(session.context, agent)
    if show:
        planned = session_hook_setup.plan_hook(session.context, found, remove=remove)
        session.output.document(_document(found, planned, done=False), lambda: _show(session, planned))
        return
    with session.output.progress("Checking the hooks of the runtime"):
        planned = (session_hook_setup.remove_hook if remove else session_hook_setup.install_hook)(
            session.context, found
        )
    lines = _removed(found, planned) if remove else _installed(session, found, planned)

    def text() -> None:
        for line in lines:
            session.output.line(line)

    session.output.document(_document(found, planned, done=True), text)


def _document(agent: Agent, planned: HookPlan, *, done: bool) -> JsonObject:
    return {
        "id": agent.id,
        "name": agent.name,
        "runtime": agent.runtime,
        "workspace": str(agent.workspace),
        "changed": done and not planned.empty,
        "files": [{"path": str(path), "content": data.decode()} for path, data in planned.write.items()],
        "edits": [{"path": str(path), "content": change.shown} for path, change in planned.edit.items()],
        "commands": [list(step.command) for step in planned.steps],
        "removed": [str(path) for path in planned.remove],
        "after": planned.after,
    }


def _show(session: CommandSession, planned: HookPlan) -> None:
    if planned.empty:
        session.output.line("Nothing would be changed.")
    for path, data in planned.write.items():
        session.output.line(f"Would write the file {path}:", style="bold")
        session.output.block(data.decode())
    for path, change in planned.edit.items():
        session.output.line(f"Would change the file {path}:", style="bold")
        session.output.block(change.shown)
    for step in planned.steps:
        session.output.verbatim(f"Would run the command: {shlex.join(step.command)}")
    for path in planned.remove:
        session.output.line(f"Would remove the file {path}")


def _installed(session: CommandSession, agent: Agent, planned: HookPlan) -> list[str]:
    if planned.waits:
        return [f"The hook for {agent.name} is installed, but does not run yet.", planned.after]
    if planned.empty:
        return [f"The hook is installed already: {agent.name} is captured at the end of each session."]
    lines = [f"The hook is installed: {agent.name} is captured at the end of each session."]
    if planned.after:
        lines.append(planned.after)
    if session.context.setting("cadence", agent) != AFTER_SESSION:
        command = f"lifeboat config set cadence {AFTER_SESSION} --agent {quote_argument(agent.name)}"
        lines.append(f"To capture only at the end of a session, not after each change: {command}")
    return lines


def _removed(agent: Agent, planned: HookPlan) -> list[str]:
    if planned.empty:
        return [f"No hook is installed for {agent.name}."]
    return [f"The hook for {agent.name} was removed.", *([planned.after] if planned.after else [])]
