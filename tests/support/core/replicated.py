"""An agent that is replicated through faults, and what has to hold after each: every kind of second copy, with a way
that goes wrong and one that does not."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lifeboat_alf.purging.purge_terms import PurgeTerms
from lifeboat_core.home.context import Context
from lifeboat_core.purge import purge_run, receipt_signing
from lifeboat_core.purge.purge_search import PurgeRequest
from lifeboat_core.remotes import acknowledged_states, agent_replication, remote_kinds
from lifeboat_core.remotes.contract import RemoteConfig, RemoteKind
from lifeboat_core.remotes.endpoint.endpoint_remote import EndpointRemote
from lifeboat_core.remotes.remote_kinds import open_remote
from lifeboat_core.remotes.replication_outcome import ReplicationOutcome
from lifeboat_endpoint.endpoint import Endpoint
from lifeboat_vault.remote.remote_contract import RemoteDescription
from support.core.faulty_transport import MADE_UP, Fault, Faulty, Plan, no_fault, proxy
from support.core.invariants import an_endpoint_is_whole, an_outcome_is_honest, what_a_remote_lists_restores
from support.core.machines import Machine
from support.endpoint.endpoint_servers import RunningEndpoint
from support.endpoint.in_process_remote import InProcessRemote

SECRET = "sk-example-orchard-not-a-real-key"
PHRASE = "the tide of the orchard came"
OPENCLAW = f'{{ models: {{ providers: {{ orchard: {{ apiKey: "{SECRET}" }} }} }} }}\n'
HONEST = frozenset(("ok", "waiting"))
SEEN = frozenset(("remote_forgot", "remote_damaged", "foreign", "cloned"))
"""What may be said of an endpoint that tells of another head than it has."""

Begin = Callable[[Plan], None]


class Replicated:
    """An agent on a machine with a second copy, or more. `straight` is the way around the faults by the copy's name,
    `begin` lets go wrong what a plan says, `called` are the calls since."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.straight: dict[str, RemoteConfig] = {}
        self.faulty: dict[str, Any] = {}

    def begin(self, plan: Plan = no_fault, name: str = "home") -> None:
        self.faulty[name].begin(plan)

    def called(self, name: str = "home") -> list[Any]:
        return list(self.faulty[name].called)

    def capture(self, number: int) -> None:
        """Something new of every kind: a note, a large file, a secret that is cut out of both."""
        text = f"# Note {number}\n\nHere {PHRASE} {number} times. The key is {SECRET}.\n"
        self.machine.write(f"memory/note-{number % 7}.md", text)
        self.machine.write("film.bin", number.to_bytes(4) + random.Random(number).randbytes(40_000))
        self.machine.capture()

    def purge(self, number: int) -> str:
        """What a capture learned is to be gone; the id of the purge. The second copies are not told yet."""
        wanted = PurgeRequest(wanted=PurgeTerms(texts=(f"Here {PHRASE} {number} times.",)), workspace=True)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(purge_run, "_told", lambda *_: [])
            found, _ = purge_run.preview_purge(self.machine.context, self.machine.known_agent, wanted)
            return purge_run.purge_content(self.machine.context, self.machine.known_agent, wanted, found, {}).receipt

    def is_told(self, redaction: str, name: str = "home") -> bool:
        """Whether a second copy holds a purge, and what it signed of it is here, or when it is done."""
        context, config = self.machine.context, self.straight[name]
        with contextlib.closing(open_remote(context, config)) as remote:
            listed = {each["id"] for each in remote.redactions(self.machine.agent.id)}
        note = receipt_signing.find_receipt(context, redaction).vault(config.id)
        return (
            redaction in listed and note is not None and note.state in (receipt_signing.DONE, receipt_signing.WAITING)
        )

    def expect_all(self, name: str = "home") -> None:
        """The next replication makes every call that there is: keys, signatures and the reading back, too."""
        with self.machine.context.vault(self.machine.agent.id) as vault:
            remote = self.straight[name].id
            if remote in acknowledged_states.load_acknowledged(vault):
                acknowledged_states.note_acknowledged(vault, remote, keys="", signed_for="before", verified_at=None)

    def push(self, plan: Plan = no_fault, name: str = "home") -> ReplicationOutcome:
        """Replicate while things go wrong, and hold what is said of it against what is."""
        self.begin(plan, name)
        try:
            outcome = self.machine.push(name)
        finally:
            self.begin(no_fault, name)
        an_outcome_is_honest(self.machine.context, self.machine.known_agent, self.straight[name], outcome)
        return outcome

    def through(self, fault: Fault, plan: Plan, name: str = "home") -> ReplicationOutcome:
        """A replication with a fault, and one without: it is no error, and mended by the next one."""
        outcome = self.push(plan, name)
        assert outcome.state in HONEST or (fault.kind in MADE_UP and outcome.code in SEEN), outcome
        self.holds(name, newest=1)
        mended = self.push(name=name)
        assert mended.state == "ok", (outcome, mended)
        self.holds(name, newest=2)
        return outcome

    def holds(self, name: str = "home", *, newest: int | None = None, complete: bool = True) -> None:
        machine, remote = self.machine, self.straight[name]
        what_a_remote_lists_restores(machine.context, machine.known_agent, remote, newest=newest, complete=complete)


def machine_in(folder: Path) -> Machine:
    """With a first state that has an artifact and credentials."""
    made = Machine(folder, config=OPENCLAW)
    made.write("film.bin", random.Random(0).randbytes(40_000))
    made.add(name="ada")
    return made


# Second copies ----------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def behind_a_proxy(
    agent: Replicated, running: RunningEndpoint, name: str = "home", *, sealed: bool = False
) -> Iterator[None]:
    """An endpoint over HTTP, whose wire goes wrong."""
    with proxy(running.url) as before:
        agent.machine.add_remote(name, before.address, token=running.token, sealed=sealed)
        agent.straight[name] = replace(agent.machine.remote(name), url=running.url)
        agent.faulty[name] = before
        yield
        for data in before.wire:
            assert SECRET.encode() not in data
            assert not sealed or PHRASE.encode() not in data
    an_endpoint_is_whole(running.data)
    nothing_shows(running.data)


@contextlib.contextmanager
def in_a_folder(
    agent: Replicated, folder: Path, patch: pytest.MonkeyPatch, name: str = "home", *, sealed: bool = True
) -> Iterator[None]:
    """A sealed log, whose folder goes wrong: every operation on a file."""
    folder.mkdir()
    agent.machine.add_remote(name, folder.as_uri(), sealed=sealed)
    agent.straight[name] = agent.machine.remote(name)
    _around(agent, name, patch, lambda remote, faulty: _around_files(remote, faulty))
    yield
    if sealed:
        nothing_shows(folder)


@contextlib.contextmanager
def in_this_process(agent: Replicated, folder: Path, patch: pytest.MonkeyPatch, name: str = "home") -> Iterator[None]:
    """An endpoint without a transport: every method goes wrong."""
    key = folder.with_name(f"{folder.name}.key")
    with Endpoint.create(folder, key_source=f"file:{key}") as made:
        tenant = made.add_tenant("home").id
        usual = remote_kinds.find_kind

        class Kind(RemoteKind):
            def open(self, context: Context, config: RemoteConfig, token: str | None) -> Any:
                opened = Endpoint.open(folder)
                return InProcessRemote(opened.space(tenant), RemoteDescription(made.id, "in process", "0", False))

        patch.setattr(remote_kinds, "find_kind", lambda url: Kind() if url == folder.as_uri() else usual(url))
        agent.machine.add_remote(name, folder.as_uri())
        agent.straight[name] = agent.machine.remote(name)
        _around(agent, name, patch, lambda remote, faulty: faulty.around(remote))
        yield
    an_endpoint_is_whole(folder)
    nothing_shows(folder)


def _around(agent: Replicated, name: str, patch: pytest.MonkeyPatch, wrap: Callable[[Any, Faulty], Any]) -> None:
    """Whoever replicates to `name` gets what goes wrong."""
    faulty = agent.faulty[name] = Faulty(None)
    usual = agent_replication.open_remote

    def opened(context: Context, config: RemoteConfig) -> Any:
        remote = usual(context, config)
        return wrap(remote, faulty) if config.name == name else remote

    patch.setattr(agent_replication, "open_remote", opened)


def _around_files(log: Any, faulty: Faulty) -> Any:
    around = faulty.around(log._files)
    for part in (log, log._heads, log._inside, log._rewriting, log._shelf):
        part._files = around
    return log


def in_parts(patch: pytest.MonkeyPatch, size: int = 10_000) -> None:
    """Bundles of more than `size` bytes come in parts of so many."""
    usual = EndpointRemote._limit

    def limit(remote: EndpointRemote, name: str, otherwise: int) -> int:
        return size if name in ("direct_bytes", "part_bytes") else usual(remote, name, otherwise)

    patch.setattr(EndpointRemote, "_limit", limit)


def nothing_shows(folder: Path) -> None:
    """I2, and more than that: what lies there is encrypted."""
    for path in folder.rglob("*"):
        if path.is_file():
            data = path.read_bytes()
            assert SECRET.encode() not in data and PHRASE.encode() not in data, path


def read_back(context: Context, config: RemoteConfig, agent_id: str) -> list[int]:
    """The numbers that a remote lists."""
    with contextlib.closing(open_remote(context, config)) as remote:
        return [row.number for row in remote.sequences(agent_id)]
