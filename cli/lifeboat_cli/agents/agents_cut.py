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
    short_help="Remove text that looks like a secret from captures.",
    epilog=format_examples("lifeboat agents cut Juniper memory/note.md"),
)
@click.argument("agent", type=AGENT)
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@session_command
def cut(session: CommandSession, agent: str, paths: tuple[str, ...]) -> int:
    """Remove text that looks like a secret from the captures of these files.

    The files in the workspace do not change. PATH is a file, or a database row in the form that `lifeboat doctor`
    prints. Lifeboat encrypts the removed text as a credential, and also removes it from other files. A restore with
    credentials puts the text back. Earlier sequences contain the text until you purge it. To undo this command:
    `lifeboat agents uncut`.
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
            session.output.line(
                f"Secrets are now removed from captures of {path_text(path)}: {describe_places(places)}"
            )
        if not (done.cut or done.left):
            session.output.line(
                "No text in these files looks like a secret at the moment. If such text "
                "appears later, captures will remove it."
            )
        for path in done.left:
            session.output.line(f"Still captured in plain text: {path_text(path)}")
        if purge is not None:
            session.output.line(
                f"Sequences up to {done.exposed} contain the secret in plain text. To purge it: {purge}"
            )

    session.output.document(document, text)
    return int(bool(done.left))


@click.command(
    short_help="Keep text that looks like a secret in the captures of these files.",
    epilog=format_examples("lifeboat agents uncut Juniper memory/note.md"),
)
@click.argument("agent", type=AGENT)
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@session_command
def uncut(session: CommandSession, agent: str, paths: tuple[str, ...], *, yes: bool) -> None:
    """Keep text that looks like a secret in the captures of these files. Undo `lifeboat agents cut`.

    From the next capture on, the history and the remotes contain the text in plain text. In earlier sequences
    the text stays encrypted, so a restore of these sequences still needs your key. To remove the text from the history
    later: `lifeboat purge`. A value that is also a known secret of another file, for example of `.env`, stays removed.
    """
    from lifeboat_core.capture.lookalike_cuts import uncut_lookalikes

    found = find_agent(session.context, agent)
    if not yes:
        shown = ", ".join(path_text(path) for path in paths)
        question = f"Capture {shown} in plain text from now on, in the history and on every remote?"
        ask_confirmation(session, question, otherwise="text that looks like a secret would be captured in plain text")
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
            session.output.line(f"Captured in plain text from now on: {path_text(path)}: {describe_places(places)}")
        if not (done.in_clear or done.still_cut):
            session.output.line(
                "No text in these files looks like a secret at the moment. If such text "
                "appears later, captures will keep it in plain text."
            )
        for path in done.still_cut:
            session.output.line(
                f"Still removed from captures, because another file contains the same secret: {path_text(path)}"
            )
        session.output.line("Earlier sequences keep the text encrypted.")

    session.output.document(document, text)


def _listed(places: Places) -> list[JsonObject]:
    return [
        {"path": path, "places": [{"line": place.line, "kind": place.kind} for place in found]}
        for path, found in sorted(places.items())
    ]
