"""Find suspected secrets that are kept in notes and other files."""

from __future__ import annotations

from collections.abc import Iterator

from lifeboat_cli.doctor import DoctorFinding, DoctorLevel
from lifeboat_core.agents.agent import Agent, list_agents
from lifeboat_core.capture import secret_lookalikes
from lifeboat_core.home.context import Context
from lifeboat_core.state.state_db import StateDb
from lifeboat_core.texts.human_text import file_name, path_text, quote_argument

TITLE = "Text that looks like a secret"
REST = (
    "If the text is a secret, revoke the secret at the service that issued it, because anyone "
    "who can read the file can use the secret. If not, write lifeboat:allow on that line"
)


def check(context: Context) -> Iterator[DoctorFinding]:
    for agent in list_agents(context):
        yield from _of(context, agent)


def write_cut_command(agent: str, path: str) -> str:
    """Return the command that cuts it from now on."""
    return f"lifeboat agents cut {quote_argument(agent)} {quote_argument(file_name(path))}"


def _of(context: Context, agent: Agent) -> Iterator[DoctorFinding]:
    found, unread = {}, {}
    with context.vault(agent.id) as vault:
        if context.home.state_file(agent.id).exists():
            with StateDb.open(context.home.state_file(agent.id), vault.id) as db:
                found, unread = secret_lookalikes.read_lookalikes(db), secret_lookalikes.read_opaque_files(db)
    for path, places in sorted(found.items()):
        result = (
            f"{path_text(path)} contains plain text that looks like a secret: "
            f"{secret_lookalikes.describe_places(places)}"
        )
        yield DoctorFinding(DoctorLevel.WARNING, agent.name, f"{result}. {REST}", write_cut_command(agent.name, path))
    for path, form in sorted(unread.items()):
        yield DoctorFinding(DoctorLevel.OK, agent.name, f"{path_text(path)} was not searched for secrets: {form}")
    if not found:
        yield DoctorFinding(DoctorLevel.OK, agent.name, "no captured file contains plain text that looks like a secret")
