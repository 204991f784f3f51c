"""Helpers for purges: a text that an agent learned, everything that has it, and a search through every byte
afterwards."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from pathlib import Path

from lifeboat_alf.purging.purge_items import PurgeOptions
from lifeboat_alf.purging.purge_terms import PurgeTerms
from lifeboat_alf.states.agent_state import BodyAbsent, State
from lifeboat_core.purge import purge_run
from lifeboat_core.purge.purge_run import PurgeResult
from lifeboat_core.purge.purge_search import PurgeRequest
from lifeboat_endpoint.endpoint import Endpoint
from lifeboat_vault.vault import Vault
from support.adapters.canaries import HEAD, TAIL, Canary
from support.adapters.canary_scan import Leak, Scanner
from support.core.machines import Machine
from support.endpoint.endpoint_servers import RunningEndpoint

TEXT = f"The passport number is {HEAD} 0042 {TAIL}."
"""What the agent memorised: one line, whose beginning and end the canary scanner knows."""
SCANNER = Scanner.of([Canary("passport", (), TEXT)])

Held = dict[str, bytes]


def request(
    *, text: str | None = TEXT, records: Iterable[str] = (), workspace: bool = False, **options: bool
) -> PurgeRequest:
    wanted = PurgeTerms() if text is None else PurgeTerms(texts=(text,))
    return PurgeRequest(tuple(records), wanted, PurgeOptions(**options), workspace=workspace)


def purge(machine: Machine, wanted: PurgeRequest | None = None, owners: dict[str, str] | None = None) -> PurgeResult:
    """Preview and purge, as the command does after a yes."""
    chosen = wanted or request()
    agent = machine.known_agent
    found, warnings = purge_run.preview_purge(machine.context, agent, chosen)
    assert warnings == []
    return purge_run.purge_content(machine.context, agent, chosen, found, owners or {})


def bodies(vault: Vault) -> Iterator[tuple[str, bytes]]:
    """Return every body that a vault still has, decoded, with its name."""
    for item in vault.history():
        with contextlib.suppress(BodyAbsent):
            yield item.path or f"record {item.record_id}", vault.read_object(item.object)


def leaks_in(vault: Vault) -> list[Leak]:
    """Return where the text is still in a vault, through everything that its bodies are packed in."""
    found = [leak for name, body in bodies(vault) for leak in SCANNER.data(body, name)]
    audit = b"\n".join(str(row).encode() for row in vault.audit_rows())
    return [*found, *SCANNER.data(audit, "the audit")]


def leaks_below(*folders: Path) -> list[Leak]:
    """Return where the text is in files: streams are inflated, free pages and logs of databases are read."""
    return SCANNER.folders(*folders)


def everything(vault: Vault) -> dict[int, tuple[bytes, Held]]:
    """Return {sequence: (its digest, its contents)} of everything that is kept."""
    return {row.number: (row.digest, contents(vault.state(row.number))) for row in vault.sequences()}


def contents(state: State) -> Held:
    found = {}
    for entry in state.entries():
        with contextlib.suppress(BodyAbsent):
            found[entry.path] = state.body(entry.path)
    return found | {record.id: record.line for record in state.records()}


def without(before: dict[int, tuple[bytes, Held]]) -> dict[int, tuple[bytes, Held]]:
    """Return what must be unchanged after a purge: everything without the text."""
    return {
        number: (digest, {name: body for name, body in held.items() if not SCANNER.data(body, name)})
        for number, (digest, held) in before.items()
    }


def same(before: dict[int, tuple[bytes, Held]], after: dict[int, tuple[bytes, Held]]) -> bool:
    """Assert that every kept state has its digest, and everything else its bytes."""
    clean = without(before)
    return clean.keys() == after.keys() and all(
        digest == after[number][0] and held.items() <= after[number][1].items()
        for number, (digest, held) in clean.items()
    )


def owner_token(endpoint: RunningEndpoint) -> str:
    """Return the second token of an endpoint, which may purge and is on no disk of the user."""
    with Endpoint.open(endpoint.data) as opened:
        tenant = opened.control.tenants()[0]
        name = f"owner {len(opened.control.tokens())}"
        return opened.control.add_token(tenant.id, name, {"purge"})[1]


def vaults_of(endpoint: RunningEndpoint) -> Iterator[Vault]:
    """Return every vault of an endpoint, opened with its keys."""
    with Endpoint.open(endpoint.data) as opened:
        for tenant in opened.control.tenants():
            space = opened.space(tenant.id)
            for agent_id in space.agent_ids():
                with space.vault(agent_id) as vault:
                    yield vault
