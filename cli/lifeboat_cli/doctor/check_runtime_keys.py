"""Check credentials that are sealed as a runtime encrypted them: without the runtime's key they are useless."""

from __future__ import annotations

from collections.abc import Iterator

from lifeboat_adapters.errors import AdapterError, SecretsError
from lifeboat_alf.common.json_shapes import as_list
from lifeboat_cli.doctor import DoctorFinding, DoctorLevel
from lifeboat_core.agents.agent import Agent, list_agents
from lifeboat_core.capture.secret_cutter import RUNTIME_KEY
from lifeboat_core.home.context import Context
from lifeboat_core.state.state_documents import load_credentials
from lifeboat_core.texts.human_text import count_text, quote_argument

TITLE = "Keys of the runtimes"


def check(context: Context) -> Iterator[DoctorFinding]:
    for agent in list_agents(context):
        yield from _of_key(context, agent)
        yield _of_values(context, agent)


def _of_key(context: Context, agent: Agent) -> Iterator[DoctorFinding]:
    """Check a key that exists and cannot be used."""
    credentials = context.adapter(agent.runtime).credentials
    try:
        if credentials is not None:
            credentials.key_file(context.installation(agent))
    except SecretsError as error:
        yield DoctorFinding(DoctorLevel.WARNING, agent.name, error.message, error.fix)
    except AdapterError:
        return  # The check of the runtimes reports it.


def _of_values(context: Context, agent: Agent) -> DoctorFinding:
    with context.vault(agent.id) as vault:
        row = vault.head()
        records = {} if row is None else load_credentials(vault.state())
    labels = [str(one.get("label")) for one in records.values() if RUNTIME_KEY in as_list(one.get("tags"))]
    if not labels:
        return DoctorFinding(DoctorLevel.OK, agent.name, "all captured credentials can be used on another machine")
    result = (
        f"Lifeboat could not read the key of the runtime, and {count_text(len(labels), 'credential')} "
        "cannot be used without that key: "
        f"{', '.join(labels[:3])}{(', ...' if len(labels) > 3 else '')}"
    )
    return DoctorFinding(
        DoctorLevel.WARNING,
        agent.name,
        result,
        f"restore the key file of the runtime, then run: lifeboat sync {quote_argument(agent.name)}",
    )
