"""`lifeboat agents cut`: cut what looks like a secret out of files that are made for something else."""

from __future__ import annotations

from typing import Any

import click

from lifeboat_daemon.agent import find
from lifeboat_daemon.capture.lookalikes import Places, text_of
from lifeboat_daemon.cli.examples import examples
from lifeboat_daemon.cli.naming import AGENT
from lifeboat_daemon.cli.session import Session, session_command
from lifeboat_daemon.words import path_text


@click.command(
    short_help="Cut what looks like a secret out of these files.",
    epilog=examples("lifeboat agents cut Juniper memory/note.md"),
)
@click.argument("agent", type=AGENT)
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@session_command
def cut(session: Session, agent: str, paths: tuple[str, ...]) -> int:
    """Cut what looks like a secret out of these files, from now on.

    PATH is a file or a row as `lifeboat doctor` names it. The workspace stays as it is. What is cut is sealed like any
    credential and looked for everywhere else; a restore with credentials puts it back. Older sequences keep it until it
    is purged.
    """
    from lifeboat_daemon.cut_looks import cut_looks
    from lifeboat_daemon.doctor.exposed_secrets import purge_command

    found = find(session.context, agent)
    with session.output.progress("Capturing"):
        done = cut_looks(session.context, found, paths)
    purge = purge_command(found.name) if done.exposed is not None else None
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
            session.output.line(f"Cut from now on: {path_text(path)}: {text_of(places)}")
        if not (done.cut or done.left):
            session.output.line("Nothing there looks like a secret now. What will is cut.")
        for path in done.left:
            session.output.line(f"Still in clear: {path_text(path)}")
        if purge is not None:
            session.output.line(f"Sequences up to {done.exposed} hold it in clear. To purge it: {purge}")

    session.output.document(document, text)
    return int(bool(done.left))


def _listed(places: Places) -> list[dict[str, Any]]:
    return [
        {"path": path, "places": [{"line": place.line, "kind": place.kind} for place in found]}
        for path, found in sorted(places.items())
    ]
