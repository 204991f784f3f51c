"""`lifeboat agents cut` and `uncut`: cut suspected secrets out of files that are not meant for secrets."""

from __future__ import annotations

import click

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_cli.terminal.command_session import CommandSession, ask_confirmation, session_command
from lifeboat_cli.terminal.help_examples import format_examples
from lifeboat_cli.terminal.option_types import AGENT
from lifeboat_core.agents.agent import find_agent
from lifeboat_core.capture.secret_lookalikes import Places, describe_places
from lifeboat_core.texts.human_text import path_text


@click.command(
    short_help="Cut text that looks like a secret out of these files.",
    epilog=format_examples("lifeboat agents cut Juniper memory/note.md"),
)
@click.argument("agent", type=AGENT)
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@session_command
def cut(session: CommandSession, agent: str, paths: tuple[str, ...]) -> int:
    """Cut what looks like a secret out of these files, from now on.

    PATH is a file or a row as `lifeboat doctor` names it. The workspace stays as it is. What is cut is sealed like any
    credential and looked for everywhere else; a restore with credentials puts it back. Older sequences keep it until it
    is purged. `lifeboat agents uncut` takes it back.
    """
    from lifeboat_cli.doctor.check_exposed_secrets import write_purge_command
    from lifeboat_core.capture.lookalike_cuts import cut_lookalikes

    found = find_agent(session.context, agent)
    with session.output.progress("Capturing"):
        done = cut_lookalikes(session.context, found, paths)
    purge = write_purge_command(found.name) if done.exposed is not None else None
    document = {
        "id": found.id,
        "name": found.name,
        "sequence": done.report.sequence,
        "cut": _listed(done.cut),
        "left": _listed(done.left),
        "exposed_up_to": done.exposed,
        "purge": purge,
    }

    def text() -> None:
        for path, places in done.cut.items():
            session.output.line(f"Cut from now on: {path_text(path)}: {describe_places(places)}")
        if not (done.cut or done.left):
            session.output.line("No text looks like a secret now. Later matches are cut.")
        for path in done.left:
            session.output.line(f"Still in plain text: {path_text(path)}")
        if purge is not None:
            session.output.line(f"Sequences up to {done.exposed} contain it in plain text. To purge it: {purge}")

    session.output.document(document, text)
    return int(bool(done.left))


@click.command(
    short_help="Stop cutting text that looks like a secret out of these files.",
    epilog=format_examples("lifeboat agents uncut Juniper memory/note.md"),
)
@click.argument("agent", type=AGENT)
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@session_command
def uncut(session: CommandSession, agent: str, paths: tuple[str, ...], *, yes: bool) -> None:
    """Stop cutting text that looks like a secret out of these files.

    Undoes `lifeboat agents cut`. From this capture on, the text is in plain text in the history and in what is sent
    to remotes. Earlier sequences keep it sealed, and a restore of one still needs the key for it. To take the text
    out of the history later: `lifeboat purge`. A value that is a secret elsewhere, as in `.env` or in another file that
    is cut, stays cut.
    """
    from lifeboat_core.capture.lookalike_cuts import uncut_lookalikes

    found = find_agent(session.context, agent)
    if not yes:
        shown = ", ".join(path_text(path) for path in paths)
        question = f"Keep {shown} in plain text from now on, in the history and at every remote?"
        ask_confirmation(session, question, otherwise="text that looks like a secret would be kept in plain text")
    with session.output.progress("Capturing"):
        done = uncut_lookalikes(session.context, found, paths)
    document = {
        "id": found.id,
        "name": found.name,
        "sequence": done.report.sequence,
        "in_clear": _listed(done.in_clear),
        "still_cut": done.still_cut,
    }

    def text() -> None:
        for path, places in done.in_clear.items():
            session.output.line(f"In plain text from now on: {path_text(path)}: {describe_places(places)}")
        if not (done.in_clear or done.still_cut):
            session.output.line("No text looks like a secret now. Later matches are kept in plain text.")
        for path in done.still_cut:
            session.output.line(f"Still cut, because it is a known secret of another file: {path_text(path)}")
        session.output.line("Earlier sequences keep it sealed.")

    session.output.document(document, text)


def _listed(places: Places) -> list[JsonObject]:
    return [
        {"path": path, "places": [{"line": place.line, "kind": place.kind} for place in found]}
        for path, found in sorted(places.items())
    ]
