"""`lifeboat sync`: capture now, and push to every remote."""

from __future__ import annotations

import click

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_cli.terminal.command_session import CommandSession, session_command
from lifeboat_cli.terminal.help_examples import format_examples
from lifeboat_cli.terminal.option_types import AGENT
from lifeboat_cli.terminal.output import CommandOutput
from lifeboat_core.agents import agent as agents
from lifeboat_core.agents import agent_sync
from lifeboat_core.agents import manage_agents as registry
from lifeboat_core.agents.agent import Agent
from lifeboat_core.capture.capture_report import MOST_REASONS
from lifeboat_core.capture.sync_json import failure_document, is_whole, list_left_out
from lifeboat_core.errors import Busy, ServiceError
from lifeboat_core.health import remote_health
from lifeboat_core.machine import clock_trust
from lifeboat_core.processes.own_interpreter import make_own_command, start_detached
from lifeboat_core.purge import purge_folders
from lifeboat_core.system_refusals import convert_error
from lifeboat_core.texts.human_text import count_text, group_changes, path_text, quote_argument
from lifeboat_vault.errors import VaultDamaged, VaultMissing, VaultUnusable

_LISTS = {
    "unread": "the file could not be read, so its last captured version is kept",
    "unstable": "the file changed while it was read, so its last captured version is kept",
    "waiting": "the file may contain secrets and cannot be parsed, so its last captured version is kept",
    "left_out": "the current version of the file is not captured",
    "looks_like_secret": "the file contains text that looks like a secret",
}
_UNREADABLE = frozenset((VaultMissing.code, VaultDamaged.code, VaultUnusable.code))
"""Codes of errors after which the content of a vault is unknown."""


@click.command(
    short_help="Capture changes and push them to all remotes.",
    epilog=format_examples("lifeboat sync", "lifeboat sync Juniper"),
)
@click.argument("names", metavar="[AGENT]...", nargs=-1, type=AGENT)
@click.option(
    "--unless-paused", is_flag=True, help="Skip paused and unprotected agents, even if they are named as arguments."
)
@click.option("--background", is_flag=True, help="Start the sync in a separate process and return immediately.")
@session_command
def sync(session: CommandSession, names: tuple[str, ...], unless_paused: bool, background: bool) -> int:
    """Capture changes of all agents, or of the named agents, and push them to all remotes.

    If the daemon runs, it does the work. The command also deletes old sequences according to the retention settings,
    and the history of agents that were removed a month ago. Exits with 1 if an agent was not captured, if the current
    version of a file could not be captured (unreadable, changing, or over a limit), or if a required remote did not
    receive the newest sequence.
    """
    chosen = [agents.find_agent(session.context, name) for name in names] or agents.list_agents(session.context)
    if not chosen:
        session.output.note("No agent is protected yet. To find agents: lifeboat agents discover")
    if background:
        words = ["sync", *(agent.id for agent in chosen), *(["--unless-paused"] if unless_paused else [])]
        start_detached(make_own_command(*words))
        session.output.document({"agents": []}, lambda: session.output.line("The sync runs in the background."))
        return 0
    due = [agent for agent in chosen if (names and not unless_paused) or not _rests(session, agent)]
    documents = _captured_by_daemon(session, due)
    if documents is None:
        documents = [_synced(session, agent) for agent in due]
        registry.sweep_removed(session.context, trusted=clock_trust.is_clock_trusted(session.context))
        _tell_of_erased(session)
    session.output.document({"agents": documents}, lambda: _print(session.output, documents))
    return 1 if any(map(_has_failed, documents)) else 0


def _tell_of_erased(session: CommandSession) -> None:
    """Tell remotes about agents that were purged entirely, if they could not be reached before."""
    if purge_folders.list_purged_agent_ids(session.context):
        from lifeboat_core.purge import agent_purge

        agent_purge.tell_remotes_of_purged_agents(session.context)


def _has_failed(document: JsonObject) -> bool:
    return not is_whole(document) or any(map(remote_health.has_failed, document["remotes"]))


def _rests(session: CommandSession, agent: Agent) -> bool:
    """Return whether an agent is paused, and say so."""
    if agent.watched and not agent.is_paused(session.context.now()):
        return False
    why = "captures of the agent are paused" if agent.watched else "the agent was imported and is not captured yet"
    session.output.note(
        f"{agent.name} is skipped: {why}; to resume: lifeboat agents resume {quote_argument(agent.name)}"
    )
    return True


def _captured_by_daemon(session: CommandSession, chosen: list[Agent]) -> list[JsonObject] | None:
    """Return the daemon's answer about captures that it makes now, or None if no daemon answers."""
    from lifeboat_daemon.control import control_methods
    from lifeboat_daemon.control.daemon_client import connect_if_running

    try:
        client = connect_if_running(session.context.home)
        if client is None:
            return None
        with client, session.output.progress("Capturing and pushing"):
            documents: list[JsonObject] = client.ask(control_methods.SYNC, agents=[agent.id for agent in chosen])[
                "agents"
            ]
    except ServiceError as error:
        session.output.warn(
            f"the daemon could not capture the agents ({error.message}), so this command captures them itself"
        )
        return None
    return [_with_patience(session, chosen, document) for document in documents]


def _with_patience(session: CommandSession, chosen: list[Agent], document: JsonObject) -> JsonObject:
    """Return the daemon's answer about one agent. The daemon does not wait for the agent's lock, but this command does
    if that may help."""
    agent = next((one for one in chosen if one.id == document["id"]), None)
    return document if agent is None or document.get("code") != Busy.code else _synced(session, agent)


def _synced(session: CommandSession, agent: Agent) -> JsonObject:
    """Capture and push one agent in this process."""
    document = _capture(session, agent)
    with session.output.progress(f"Pushing {agent.name}") as tell:
        remotes = agent_sync.send_to_remotes(session.context, agent, tell=tell)
    return {**document, "remotes": remotes}


def _capture(session: CommandSession, agent: Agent) -> JsonObject:
    """Capture one agent. A failure does not affect the other agents."""
    try:
        with session.output.progress(f"Capturing {agent.name}"):
            return agent_sync.sync_agent(session.context, agent)
    except Exception as error:  # This includes bugs of the program: the other agents are still captured.
        return failure_document(agent, agent_sync.find_head_number(session.context, agent), convert_error(error))


def _print(output: CommandOutput, documents: list[JsonObject]) -> None:
    for document in documents:
        print_capture(output, document)
        if document.get("fix"):
            output.warn(f"to fix it: {document['fix']}")
        for remote in document["remotes"]:
            _print_remote(output, document["name"], remote)


def _print_remote(output: CommandOutput, name: str, remote: JsonObject) -> None:
    """Print one line for each remote, and the command that helps separately."""
    text = describe_remote_result(remote)
    if remote["state"] in ("ok", "held") or remote["optional"]:
        output.line(f"{name}: {text}")
        return
    output.warn(f"{name}: {text}")
    if remote["fix"]:
        output.note(f"  to fix it: {remote['fix']}")


def describe_remote_result(remote: JsonObject) -> str:
    """Describe the result of a push to one remote in one line."""
    place = f"{remote['name']} (optional)" if remote["optional"] else remote["name"]
    if remote["state"] == "ok":
        return f"remote {place} has sequence {remote['sequence']}"
    said = f"remote {place}: {remote['message'] or remote['state']}"
    if remote["sequence"] is not None:
        return f"{said}; the newest sequence there is {remote['sequence']}"
    return said if remote["code"] in _UNREADABLE else f"{said}; nothing is stored there yet"


def print_capture(output: CommandOutput, document: JsonObject) -> None:
    """Print what one capture contains and what it left out."""
    output.line(_sentence(document))
    _print_remarks(output, document)


def _print_remarks(output: CommandOutput, document: JsonObject) -> None:
    """Print to standard error what a capture could not keep unchanged, and what it found."""
    for warning in document["warnings"]:
        output.warn(warning)
    for name, meaning in _LISTS.items():
        files = document[name]
        shown = list(files.items())[: None if name == "looks_like_secret" else MOST_REASONS]
        for path, reason in shown:
            output.warn(f"{path_text(path)}: {meaning} ({reason})")
        if len(files) > len(shown):
            rest = f"lifeboat agents show {quote_argument(document['name'])} --left-out"
            output.warn(f"{count_text(len(files) - len(shown), 'more file')}: {meaning}. To list them: {rest}")
    for path, count in document["kept_out"].items():
        output.warn(
            f"{path_text(path)} contains purged text in {count_text(count, 'place')}; that text was left out of the "
            "captured version"
        )
    for path, count in document["purged_again"].items():
        places = count_text(count, "place")
        output.warn(
            f"{path_text(path)} contains a purged value in {places}, written in a different form; the file "
            "is captured unchanged"
        )
    if document["held"]:
        name, before = quote_argument(document["name"]), document["held"].get("previous")
        output.warn(
            f"The sequence is not pushed, because it removes much: {document['held'].get('reason', '')}. Was "
            "the removal an accident?"
        )
        output.note(f"  restore the earlier state: lifeboat restore {name} --at {before}")
        output.note(f"  accept the removal: lifeboat agents accept {name}")


def _sentence(document: JsonObject) -> str:
    """Describe one capture in one line."""
    name, number = document["name"], document["sequence"]
    if document["state"] == "error":
        if number is not None:
            return f"{name}: not captured; the newest sequence is still {number}"
        if document.get("code") in _UNREADABLE:
            return f"{name}: not captured; the earlier sequences of the agent cannot be read"
        return f"{name}: not captured; the agent has no earlier sequence"
    missing = len(list_left_out(document))
    partial = f"; partial: {count_text(missing, 'file')} not captured in the current version" if missing else ""
    if not document["changed"]:
        return f"{name}: no changes since sequence {number}{partial}"
    parts = group_changes(document["records"], document["raw"])
    return f"{name}: sequence {number}: {'; '.join(parts) or 'only metadata changed'}{partial}"
