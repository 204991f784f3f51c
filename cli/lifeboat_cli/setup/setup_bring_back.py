"""`lifeboat setup`: bring back an agent from a remote, on a machine that may never have had it."""

from __future__ import annotations

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.common.size_texts import size_text
from lifeboat_alf.errors import LifeboatError
from lifeboat_cli.setup import setup_questions as asking
from lifeboat_cli.setup import setup_steps as steps
from lifeboat_cli.setup.setup_protect import set_up_service
from lifeboat_cli.setup.setup_remote import ask_remote
from lifeboat_cli.terminal.command_session import CommandSession
from lifeboat_core.errors import BadSetting, MovedElsewhere
from lifeboat_core.machine.typed_folders import parse_whole_path
from lifeboat_core.remotes import remote_registry
from lifeboat_core.texts.human_text import count_text, time_text


def bring_back(session: CommandSession) -> None:
    """Ask for remote, key, agent and folder, and restore. Steps that are done are skipped."""
    asking.print_heading(session, "1 of 4. The remote")
    remote = _remote(session)
    if remote is None:
        return
    asking.print_heading(session, "2 of 4. Your key")
    if not _key(session):
        return
    asking.print_heading(session, "3 of 4. The agent")
    agent = _agent(session, remote)
    if agent is not None:
        _restore(session, remote, agent)
    asking.print_heading(session, "4 of 4. The service")
    set_up_service(session)


def _remote(session: CommandSession) -> str | None:
    known = [one.name for one in remote_registry.list_usable_remotes(session.context)]
    if not known:
        return ask_remote(session, optional=False)
    chosen = asking.ask_choice(session, "Which remote has the agent?", [*known, "another remote"])
    if chosen is None or chosen == len(known):
        return ask_remote(session, optional=False)
    return known[chosen]


def _key(session: CommandSession) -> bool:
    """Return whether the key is here, recovering it from its words if necessary."""
    step = steps.check_key_ready(session.context)
    session.output.line(step.text)
    if step.state == steps.DONE:
        return True
    session.output.line("To continue, recover your key from its 24 recovery words.")
    return asking.retry_until_done(lambda: asking.attempt_command(session, "keys", "recover"))


def _agent(session: CommandSession, remote: str) -> JsonObject | None:
    """Return the agent to restore, or None if it is here already or there is none."""
    try:
        there = asking.read_json_answer("agents", "list", "--remote", remote)["agents"]
    except LifeboatError as error:
        session.output.error(error)
        return None
    for one in there:
        if one["here"] is not None:
            session.output.line(f"The agent {one['here']} is on this machine already.")
    away = [one for one in there if one["here"] is None and one["sequence"] is not None]
    if not away:
        session.output.line(f"All agents on {remote} are on this machine already.")
        return None
    chosen = asking.ask_choice(session, "Which one?", [_described(one) for one in away])
    return None if chosen is None else away[chosen]


def _described(one: JsonObject) -> str:
    by = f", by {one['machine']}" if one["machine"] else ""
    size = f", {size_text(one['bytes'])}" if one["bytes"] else ""
    named = f"{one['name'] or one['id']} ({one['runtime']})"
    return f"{named}, sequence {one['sequence']} of {time_text(one['time'])}{by}{size}"


def _restore(session: CommandSession, remote: str, agent: JsonObject) -> None:
    """Show the plan, ask, and restore. If a machine wrote recently, the user types its name."""
    while True:
        words = _words(session, remote, agent)
        try:
            plan = asking.read_json_answer("restore", *words, "--dry-run")
        except LifeboatError as error:
            session.output.error(error)
            if not asking.ask_yes_no("Choose another folder?"):
                return
            continue
        _show(session, plan)
        if asking.ask_yes_no(f"Restore {agent['name'] or 'the agent'} to {plan['to']}?"):
            break
        if not asking.ask_yes_no("Choose another folder?", default=False):
            return
    _run(session, [*words, "--adopt", "--yes"])


def _words(session: CommandSession, remote: str, agent: JsonObject) -> list[str]:
    """Return the words of the restore command, as far as its folder is known."""
    names = sorted(agent["folders"])  # file formats have no folder here: no agent runs in one
    runtime = asking.ask_text(f"Which runtime will use the agent? ({', '.join(names)})", agent["runtime"], names)
    target = _folder(session, agent["folders"].get(runtime, ""))
    words = [agent["id"], "--from", remote, "--to", target]
    words += [] if runtime == agent["runtime"] else ["--runtime", runtime]
    return [*words, "--with-credentials"]


def _folder(session: CommandSession, usual: str) -> str:
    while True:
        try:
            return str(parse_whole_path(asking.ask_text("Folder for the agent on this machine", usual)))
        except BadSetting as error:
            session.output.error(error)


def _show(session: CommandSession, plan: JsonObject) -> None:
    """Print the plan in a few lines. The plan itself names every file."""
    output, files = session.output, plan["files"]
    output.line(
        f"The restore would write sequence {plan['sequence']}, captured {time_text(plan['time'])}, to {plan['to']}."
    )
    said = ", ".join(f"{count} {word}" for word, count in files.items() if count) or "none"
    output.line(f"Files: {said}.")
    for warning in plan["warnings"]:
        output.warn(warning)
    if files["overwritten"]:
        output.warn(f"{count_text(files['overwritten'], 'file')} in this folder would be overwritten")


def _run(session: CommandSession, words: list[str]) -> None:
    error = asking.attempt_command(session, "restore", *words)
    while isinstance(error, MovedElsewhere):
        session.output.line(
            "If the agent still runs on the other machine, stop it first: otherwise two copies of "
            "the agent would change independently."
        )
        machine = asking.ask_text(
            "Type the name of the other machine to make this machine the writer of the agent (Enter cancels)"
        )
        if not machine:
            return
        error = asking.attempt_command(session, "restore", *words, "--take-over", machine)
