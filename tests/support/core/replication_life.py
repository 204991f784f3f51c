"""A life of several machines of one user, an endpoint and a sealed folder, in any order of what happens to them: a
Hypothesis machine for the tests of what has to hold whatever happened."""

from __future__ import annotations

import contextlib
import random
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from pytest import MonkeyPatch

from lifeboat_alf.errors import LifeboatError
from lifeboat_alf.states import merkle
from lifeboat_core.agents import manage_agents
from lifeboat_core.history import thin_history
from lifeboat_core.home import user_key_rotation
from lifeboat_core.home.context import Context
from lifeboat_core.processes.progress import tell_nobody
from lifeboat_core.remotes import (
    acknowledged_states,
    agent_adoption,
    displaced_histories,
    manage_remotes,
    pulling,
    remote_kinds,
)
from lifeboat_core.remotes.contract import RemoteConfig
from lifeboat_core.remotes.remote_kinds import open_remote
from lifeboat_core.remotes.replication_outcome import ReplicationOutcome
from lifeboat_endpoint.endpoint import Endpoint
from lifeboat_endpoint.maintenance import data_key_rotation, tenant_care
from lifeboat_keys.pairs.user_key import UserKey
from lifeboat_vault.errors import RemoteUnreachable, UnknownAtRemote
from lifeboat_vault.remote.remote_contract import Remote, RemoteDescription, RemoteHead
from lifeboat_vault.vault import Retention, Vault
from support.core import invariants
from support.core.machines import Machine, contents
from support.core.protected import SteadyClock
from support.endpoint.in_process_remote import InProcessRemote

HOME, STICK = "home", "stick"
REMOTES = (HOME, STICK)
FINE = {"", "held_back", "moved", "foreign", "cloned", "remote_forgot", "remote_unreachable", "epoch_behind"}
"""How a replication may end."""
NAMES = st.sampled_from(("MEMORY.md", "USER.md", "memory/2026-11-12.md", "plans/chart.csv"))
PICKS = st.integers(0, 99)
"""Which of some things that depend on what happened before."""
PLACES = st.sampled_from(REMOTES)

Tree = dict[str, bytes]


def tree_of(folder: Path) -> Tree:
    return {
        file.relative_to(folder).as_posix(): file.read_bytes()
        for file in sorted(folder.rglob("*"))
        if file.is_file() and not any(part.startswith(".") for part in file.relative_to(folder).parts)
    }


class _Opened(InProcessRemote):
    """Closes the endpoint with itself."""

    def __init__(self, endpoint: Endpoint, tenant: str) -> None:
        super().__init__(endpoint.space(tenant), RemoteDescription(endpoint.id, "in process", "0", False))
        self._endpoint = endpoint

    def close(self) -> None:
        self._endpoint.close()


@dataclass
class Places:
    """The second copies: an endpoint in this process, and a folder. Both can be away."""

    folder: Path
    clock: SteadyClock
    tenant: str = ""
    away: set[str] = field(default_factory=set)

    def make(self) -> None:
        (self.folder / STICK).mkdir(parents=True)
        with Endpoint.create(self.data, key_source=f"file:{self.folder / 'key'}", clock=self.clock) as made:
            self.tenant = made.add_tenant("home").id

    @property
    def data(self) -> Path:
        return self.folder / HOME

    def url(self, name: str) -> str:
        return (self.folder / name).as_uri()

    @contextlib.contextmanager
    def endpoint(self) -> Iterator[Endpoint]:
        with Endpoint.open(self.data, clock=self.clock) as opened:
            yield opened

    def install(self, patch: MonkeyPatch) -> None:
        """Have addresses of these folders opened here."""
        usual = remote_kinds.find_kind

        def kind_of(url: str) -> Any:
            name = next((each for each in REMOTES if url == self.url(each)), None)
            return usual(url) if name is None else _Kind(self, name, usual(url))

        patch.setattr(remote_kinds, "find_kind", kind_of)


@dataclass
class _Kind:
    places: Places
    name: str
    usual: Any

    def open(self, context: Context, config: RemoteConfig, token: str | None) -> Remote:
        if self.name in self.places.away:
            raise RemoteUnreachable(f"{self.name} is away")
        if self.name == STICK:
            opened: Remote = self.usual.open(context, config, token)
            return opened
        return _Opened(Endpoint.open(self.places.data, clock=self.places.clock), self.places.tenant)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.usual, name)


class Life(RuleBasedStateMachine):
    """`captured`: the contents of every state that any machine captured, by digest; `trees`: the workspace it was made
    of. `acknowledged_states`: by remote, the digest of every number that was acknowledged there. `had`: by machine, the
    digests that its history held at any time; `earlier`: copies of homes and remotes, to set them back to."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.clock = SteadyClock()
        self.chance = random.Random(1)
        self.patch = MonkeyPatch()
        self.places = Places(self.folder / "places", self.clock)
        self.machines: list[Machine] = []
        self.captured: dict[bytes, dict[str, bytes]] = {}
        self.trees: dict[bytes, Tree] = {}
        self.acknowledged: dict[str, dict[int, bytes]] = {name: {} for name in REMOTES}
        self.proven: set[tuple[str, bytes]] = set()
        self.had: dict[int, set[bytes]] = {}
        self.earlier: dict[object, Any] = {}
        self.counter = 0

    @initialize()
    def begin(self) -> None:
        self.places.make()
        self.places.install(self.patch)
        laptop = self._machine()
        laptop.add(name="ada")
        self.agent_id = laptop.agent.id
        self.machines.append(laptop)
        self._join(laptop)
        self._look(laptop)

    def teardown(self) -> None:
        try:
            if self.machines:
                self.all_is_well_in_the_end()
        finally:
            self.patch.undo()
            shutil.rmtree(self.folder, ignore_errors=True)

    # Machines ---------------------------------------------------------------------------------------------------

    def _machine(self) -> Machine:
        self.counter += 1
        made = Machine(self.folder / f"machine {self.counter}")
        made.clock = self.clock
        return made

    def _join(self, machine: Machine) -> None:
        away, self.places.away = self.places.away, set()
        for name in REMOTES:
            machine.add_remote(name, self.places.url(name), sealed=name == STICK)
        self.places.away = away

    def one(self, pick: int) -> Machine:
        return self.machines[pick % len(self.machines)]

    def _clean(self) -> Machine:
        """A machine that knows nothing but the words and where the second copies are."""
        made = self._machine()
        made.learn_words_of(self.machines[0])
        self._join(made)
        return made

    def _rows(self, machine: Machine) -> dict[int, bytes]:
        with machine.context.vault(self.agent_id) as vault:
            return {row.number: row.digest for row in vault.sequences()}

    def _look(self, machine: Machine) -> None:
        """What a machine has now; what it had is still there, or was set aside."""
        rows = set(self._rows(machine).values())
        known = self.had.setdefault(id(machine), set())
        gone = known - rows
        with machine.context.vault(self.agent_id) as vault:
            head = vault.head()
            assert head is not None
            if head.digest not in self.captured:
                self.captured[head.digest] = contents(vault.state())
                kept = machine.kept()  # a large file may wait for its hour
                self.trees[head.digest] = {path: found[1] for path, found in kept.items() if found[0] == "file"}
        for one in displaced_histories.list_displaced(machine.context, self.agent_id):
            with Vault.open(one.folder) as kept:
                gone -= {row.digest for row in kept.sequences()}
        assert not gone, "what was captured vanished"
        known |= rows

    # What people and agents do ----------------------------------------------------------------------------------

    @rule(pick=PICKS, name=NAMES)
    def edit(self, pick: int, name: str) -> None:
        self.counter += 1
        self.one(pick).write(name, f"# T\n\n## Tea {self.counter}\n\nThe boat {self.counter} lies in the harbour.\n")

    @rule(pick=PICKS, name=NAMES)
    def delete(self, pick: int, name: str) -> None:
        (self.one(pick).workspace / name).unlink(missing_ok=True)

    @rule(pick=PICKS, one=NAMES, other=NAMES)
    def move(self, pick: int, one: str, other: str) -> None:
        source, target = self.one(pick).workspace / one, self.one(pick).workspace / other
        if source.exists() and one != other:
            target.parent.mkdir(parents=True, exist_ok=True)
            source.replace(target)

    @rule(pick=PICKS)
    def change_a_large_file(self, pick: int) -> None:
        self.counter += 1
        self.one(pick).write("film.bin", self.counter.to_bytes(4, "big") * 80_000)

    @rule(pick=PICKS)
    def capture(self, pick: int) -> None:
        self._capture(self.one(pick))

    def _capture(self, machine: Machine) -> None:
        machine.capture()
        self._look(machine)

    @rule(pick=PICKS)
    def accept(self, pick: int) -> None:
        machine = self.one(pick)
        manage_agents.accept_removals(machine.context, machine.known_agent)

    # Replication ------------------------------------------------------------------------------------------------

    def _there(self, machine: Machine, name: str) -> RemoteHead | None:
        with contextlib.closing(open_remote(machine.context, machine.remote(name))) as remote:
            try:
                return remote.agent(self.agent_id).head
            except UnknownAtRemote:
                return None

    @rule(pick=PICKS, name=PLACES)
    def push(self, pick: int, name: str) -> None:
        self._push(self.one(pick), name)

    def _push(self, machine: Machine, name: str) -> ReplicationOutcome:
        if name in self.places.away:
            outcome = machine.push(name)
            assert outcome.state == "waiting" or outcome.state == "fenced", outcome
            return outcome
        before = self._there(machine, name)
        known = self._known(machine, name)
        outcome = machine.push(name)
        after = self._there(machine, name)
        assert outcome.code in FINE, outcome
        if (before and before.digest) != (after and after.digest):
            assert after is not None
            assert before is None or before.digest in self.had[id(machine)], "on top of what it never had"
            assert known is None or before is not None, "what was forgotten was filled anew by itself"
            assert known is None or before is None or before.number >= known, "what was set back was gone on with"
            self.acknowledged[name][after.number] = after.digest
        if outcome.state == "ok":
            with machine.context.vault(self.agent_id) as vault:
                head = vault.head()
            assert head is not None and after is not None and after.digest == head.digest
            self.acknowledged[name][after.number] = after.digest
        return outcome

    def _known(self, machine: Machine, name: str) -> int | None:
        with machine.context.vault(self.agent_id) as vault:
            found = acknowledged_states.load_acknowledged(vault).get(machine.remote(name).id)
        return None if found is None else found.number

    @rule(pick=PICKS, name=PLACES)
    def capture_and_push(self, pick: int, name: str) -> None:
        self.edit(pick, "MEMORY.md")
        self._capture(self.one(pick))
        self._push(self.one(pick), name)

    @rule(name=PLACES)
    def goes_away_or_comes_back(self, name: str) -> None:
        self.places.away ^= {name}

    @rule(pick=PICKS, name=PLACES)
    def start_anew_with_a_remote_that_forgot(self, pick: int, name: str) -> None:
        machine = self.one(pick)
        if name in self.places.away or self._push(machine, name).code != "remote_forgot":
            return
        manage_remotes.remove_remote(machine.context, name)
        machine.add_remote(name, self.places.url(name), sealed=name == STICK)
        outcome = self._push(machine, name)
        assert outcome.state in ("ok", "held", "fenced"), outcome

    # Taking over ------------------------------------------------------------------------------------------------

    @precondition(lambda self: len(self.machines) < 3)
    @rule(name=PLACES)
    def bring_back_on_another_machine(self, name: str) -> None:
        if name in self.places.away or self._there(self.machines[0], name) is None:
            return
        head = self._there(self.machines[0], name)
        assert head is not None
        made = self._clean()
        made.bring_back(self.agent_id, made.folder / "back", name, take_over=head.machine or head.writer)
        self.had[id(made)] = set()
        self._look(made)
        self.machines.append(made)
        assert tree_of(made.workspace) == self.trees[head.digest]

    @rule(pick=PICKS)
    def adopt(self, pick: int) -> None:
        self._adopt(self.one(pick))

    def _adopt(self, machine: Machine) -> bool:
        heads = [self._there(machine, name) for name in REMOTES if name not in self.places.away]
        writers = {head.machine or head.writer for head in heads if head is not None}
        for writer in [None, *writers]:
            try:
                machine.adopt(take_over=writer)
            except LifeboatError as error:
                if error.code == "moved_elsewhere":
                    continue
                assert error.code in ("remote_unreachable", "nothing_to_restore"), error
                return False
            self._look(machine)
            return True
        return False

    def _replace(self, machine: Machine, name: str) -> None:
        gives_way = set(self._listed(name).values())
        config = machine.remote(name)
        kept = agent_adoption.replace_history(
            machine.context, machine.known_agent, config, accept_unsigned=False, tell=tell_nobody
        )
        assert kept is not None
        with Vault.open(kept) as vault:
            assert gives_way == {row.digest for row in vault.sequences()}
        self.acknowledged[name] = {}

    @rule(name=PLACES, pick=PICKS)
    def a_copy_elsewhere_changes_nothing(self, name: str, pick: int) -> None:
        if name in self.places.away:
            return
        rows = self._listed(name)
        if rows:
            number = sorted(rows)[pick % len(rows)]
            made = self._clean()
            report = made.restore_from(self.agent_id, made.folder / "copy", name, at=number)
            assert report.signature == "signed"
            assert tree_of(made.folder / "copy") == self.trees[rows[number]]
            shutil.rmtree(made.folder)

    # Misfortune -------------------------------------------------------------------------------------------------

    @precondition(lambda self: len(self.machines) < 3)
    @rule(pick=PICKS)
    def copy_a_machine(self, pick: int) -> None:
        machine = self.one(pick)
        self.counter += 1
        image = object.__new__(Machine)
        image.__dict__.update(machine.__dict__)
        image.folder = self.folder / f"machine {self.counter}"
        shutil.copytree(machine.folder, image.folder, symlinks=True)
        image.state_dir = image.folder / machine.state_dir.relative_to(machine.folder)
        image.workspace = image.folder / machine.workspace.relative_to(machine.folder)
        self.had[id(image)] = set(self.had[id(machine)])
        self.machines.append(image)
        manage_agents.move_agent(image.context, image.known_agent, image.workspace)
        self._look(image)

    @rule(pick=PICKS)
    def keep_a_copy_of_a_home(self, pick: int) -> None:
        machine = self.one(pick)
        self.counter += 1
        kept = self.folder / f"kept {self.counter}"
        shutil.copytree(machine.folder / "home", kept, symlinks=True)
        self.earlier[id(machine)] = (kept, set(self.had[id(machine)]))

    @rule(pick=PICKS)
    def set_a_home_back(self, pick: int) -> None:
        machine = self.one(pick)
        if id(machine) in self.earlier:
            kept, had = self.earlier.pop(id(machine))
            shutil.rmtree(machine.folder / "home")
            shutil.copytree(kept, machine.folder / "home", symlinks=True)
            self.had[id(machine)] = had
            self._look(machine)

    @rule(name=PLACES)
    def keep_a_copy_of_a_remote(self, name: str) -> None:
        self.counter += 1
        kept = self.folder / f"kept {self.counter}"
        shutil.copytree(self.places.folder / name, kept, symlinks=True)
        self.earlier[name] = (kept, dict(self.acknowledged[name]))

    @rule(name=PLACES)
    def set_a_remote_back(self, name: str) -> None:
        if name in self.earlier:
            kept, known = self.earlier.pop(name)
            shutil.rmtree(self.places.folder / name)
            shutil.copytree(kept, self.places.folder / name, symlinks=True)
            self.acknowledged[name] = known

    @precondition(lambda self: len(self.machines) > 1)
    @rule(pick=PICKS)
    def a_machine_is_lost(self, pick: int) -> None:
        machine = self.one(pick)
        self.machines.remove(machine)
        shutil.rmtree(machine.folder)

    # Care -------------------------------------------------------------------------------------------------------

    @rule(pick=PICKS)
    def thin_here(self, pick: int) -> None:
        machine = self.one(pick)
        before = set(self._rows(machine).values())
        thin_history.thin_agent(machine.context, machine.known_agent, Retention(0, 0, 0))
        self.had[id(machine)] -= before - set(self._rows(machine).values())
        self._look(machine)

    @rule(rotates=st.booleans())
    def care_for_the_endpoint(self, rotates: bool) -> None:
        with self.places.endpoint() as endpoint:
            (tenant,) = endpoint.control.tenants()
            if rotates:
                data_key_rotation.rotate_keys(endpoint, tenant)
            done = tenant_care.compact_tenant(endpoint, tenant)
            assert done.problems == []
        self.proven = {each for each in self.proven if each[0] != HOME}

    @rule(compromised=st.booleans())
    def rotate_the_key_everywhere(self, compromised: bool) -> None:
        """One machine makes a new key, the others take it, each sends what it has to say of it."""
        old, new = self.machines[0].context.keys().user_key(), UserKey.generate()
        for machine in self.machines:
            user_key_rotation.rotate_user_key(machine.context, old, new, compromised=compromised, lost=None)
            self._look(machine)
            self.earlier.pop(id(machine), None)  # it would have another key
        away, self.places.away = self.places.away, set()
        for machine in self.machines:
            for name in REMOTES:
                self._push(machine, name)
        self.places.away = away

    @rule(days=st.sampled_from((1, 8, 100)))
    def time_passes(self, days: int) -> None:
        self.clock.advance(days=days)

    @rule(pick=PICKS, days=st.sampled_from((-3650, -1, 3650)))
    def the_clock_is_wrong_for_a_capture(self, pick: int, days: int) -> None:
        self.clock.jump(days=days)
        self._capture(self.one(pick))
        self.clock.jump(days=-days)

    # What must hold ---------------------------------------------------------------------------------------------

    def _listed(self, name: str) -> dict[int, bytes]:
        machine = self.machines[0]
        with contextlib.closing(open_remote(machine.context, machine.remote(name))) as remote:
            try:
                return {row.number: row.digest for row in remote.sequences(self.agent_id)}
            except UnknownAtRemote:
                return {}

    @invariant()
    def what_remotes_list_is_what_was_captured(self) -> None:
        for name in REMOTES:
            if not self.machines or name in self.places.away:
                continue
            rows = self._listed(name)
            for number, digest in rows.items():
                self._prove(name, number, digest)
            newest = max(self.acknowledged[name], default=None)
            assert newest is None or rows[newest] == self.acknowledged[name][newest], "what was acknowledged is gone"

    def _prove(self, name: str, number: int, digest: bytes) -> None:
        assert self.acknowledged[name].get(number, digest) == digest
        if (name, digest) in self.proven:
            return
        machine = self.machines[0]
        with (
            contextlib.closing(open_remote(machine.context, machine.remote(name))) as remote,
            pulling.open_remote_state(remote, self.agent_id, number) as state,
        ):
            assert merkle.state_digest(state) == digest
            found = contents(state)
        if digest in self.captured:
            assert found == self.captured[digest]
        self.proven.add((name, digest))

    @invariant()
    def audit_chains_are_whole(self) -> None:
        for machine in self.machines:
            with machine.context.vault(self.agent_id) as vault:
                assert vault.check_audit() == []

    def all_is_well_in_the_end(self) -> None:
        """Whatever happened: with all remotes there, a machine that takes the agent over has it in all of them, as the
        only one; and a clean machine has all of it with the words alone."""
        self.places.away = set()
        for machine in self.machines:
            invariants.every_kept_sequence_has_its_digest(machine.context, machine.known_agent)
        machine = self.machines[0]
        for name in REMOTES:
            self.start_anew_with_a_remote_that_forgot(0, name)
        self._adopt(machine)
        manage_agents.accept_removals(machine.context, machine.known_agent)
        self.clock.advance(hours=2)
        self.edit(0, "MEMORY.md")
        self._capture(machine)
        manage_agents.accept_removals(machine.context, machine.known_agent)
        ends = {name: self._push(machine, name) for name in REMOTES}
        for name, outcome in ends.items():
            if outcome.code in (
                "foreign",
                "cloned",
            ):  # two machines wrote to two remotes: one of the histories gives way
                self._replace(machine, name)
                ends[name] = self._push(machine, name)
        assert all(outcome.state == "ok" for outcome in ends.values()), ends
        for number, other in enumerate(self.machines[1:], 1):
            self.edit(number, "MEMORY.md")
            self._capture(other)
            for name in REMOTES:
                assert self._push(other, name).state == "fenced"
        for name in REMOTES:
            clean = self._clean()
            clean.bring_back(self.agent_id, clean.folder / "back", name, take_over=machine.context.keys().own_name)
            assert tree_of(clean.workspace) == tree_of(machine.workspace)
