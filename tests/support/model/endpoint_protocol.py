"""The protocol of the endpoint as a small explicit model: machines that push, take over, purge and crash, an owner who
confirms or refuses purges, and a server that checks a push before and in its transaction.

Steps and names are those of `sealed_protocol`; the server's are between two crash points of the endpoint.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from typing import NamedTuple

from lifeboat_alf.seams.crash_points import CrashPoint
from support.model.sealed_protocol import Sequence


class Purge(StrEnum):
    """How far the one purge of the model is at the server."""

    NONE = "none"
    WAITING = "waiting"
    APPLIED = "applied"
    REFUSED = "refused"


class Server(NamedTuple):
    """What the server keeps of the agent. `has_bytes`: it keeps what the purge names; `was_applied`: the purge gave a
    receipt; `begun`: the newest number when the epoch began."""

    epoch: int = 1
    chain: tuple[Sequence, ...] = ()
    purge: Purge = Purge.NONE
    has_bytes: bool = True
    was_applied: bool = False
    begun: int = -1

    @property
    def newest(self) -> Sequence:
        return self.chain[-1]


class Phase(StrEnum):
    """Where a machine is, or the server with its request."""

    IDLE = "idle"
    BUNDLED = CrashPoint.REPLICATE_BUNDLED
    CHECKED = CrashPoint.ENDPOINT_CHECKED
    SENT = CrashPoint.REPLICATE_SENT
    PULLED = CrashPoint.ADOPT_PULLED
    SET_ASIDE = CrashPoint.ADOPT_SET_ASIDE
    RAISING = "epoch read"
    RAISED = CrashPoint.ADOPT_EPOCH_RAISED


class Machine(NamedTuple):
    """A machine of the user. `base` and `bundle_has_bytes` are of the bundle on its way, `loaded` is what it read."""

    history: tuple[Sequence, ...] = ()
    epoch: int = 1
    known: Sequence | None = None
    sent: Sequence | None = None
    is_fenced: bool = False
    has_purged: bool = False
    captures: int = 0
    phase: Phase = Phase.IDLE
    loaded: Server = Server()
    base: int = -1
    bundle_has_bytes: bool = False


class Limits(NamedTuple):
    """How often each thing may happen, so that the search ends."""

    captures: int = 1
    crashes: int = 1
    lost_answers: int = 1
    adoptions: int = 1
    purges: int = 0
    thinnings: int = 0
    decisions: int = 1


class World(NamedTuple):
    """The server, the machines, and what may still happen."""

    server: Server
    machines: tuple[Machine, ...]
    left: Limits
    acknowledged: tuple[Sequence, ...] = ()
    thinned: tuple[Sequence, ...] = ()


class EndpointProtocol:
    """The actions of the protocol.

    `without` leaves out one check: "transaction" (head and epoch are not checked again in the transaction), "epoch",
    "fetched" (a fetched history goes on in the epoch of the machine that wrote it), "arrival" (purged bytes are not
    rejected on arrival), "refusal" (a refused purge that is sent again is applied).
    """

    def __init__(self, *, without: str = "") -> None:
        self.without = without

    def start(self, machines: int, limits: Limits) -> World:
        """Return the first world: the first machine has captured and pushed sequence 0."""
        first = Sequence(0, 0, 1)
        writer = Machine((first,), known=first, sent=first)
        return World(Server(chain=(first,)), (writer, *(Machine(epoch=0),) * (machines - 1)), limits, (first,))

    def find_fault(self, world: World) -> str:
        """Return which invariant a world breaks, "" for none."""
        server = world.server
        there = {*server.chain, *world.thinned}
        if lost := [each for each in world.acknowledged if each not in there]:
            return f"an acknowledged sequence is lost: {lost[0]}"
        numbers = [each.number for each in server.chain]
        if numbers != sorted(set(numbers)):
            return f"numbers do not grow: {numbers}"
        writers: dict[int, int] = {}
        for each in (*world.thinned, *server.chain):
            if writers.setdefault(each.epoch, each.writer) != each.writer:
                return f"two machines wrote in epoch {each.epoch}"
        if late := [each for each in server.chain if each.number > server.begun and each.epoch < server.epoch]:
            return f"a sequence was accepted after its epoch had ended: {late[0]}"
        if server.was_applied and server.has_bytes:
            return "purged bytes came back"
        if server.was_applied and server.purge is Purge.REFUSED:
            return "a refused purge was applied"
        return ""

    def successors(self, world: World) -> Iterator[tuple[str, World]]:
        """Yield every action that is possible, as "WHO: action"."""
        if world.server.purge is Purge.WAITING and world.left.decisions:
            left = world.left._replace(decisions=world.left.decisions - 1)
            yield "owner: confirm", world._replace(server=_applied(world.server), left=left)
            yield "owner: refuse", world._replace(server=world.server._replace(purge=Purge.REFUSED), left=left)
        if world.left.thinnings and len(world.server.chain) > 1:
            left = world.left._replace(thinnings=world.left.thinnings - 1)
            kept = world.server._replace(chain=world.server.chain[1:])
            thinned = (*world.thinned, world.server.chain[0])
            yield "server: thin", world._replace(server=kept, left=left, thinned=thinned)
        for index, machine in enumerate(world.machines):
            for action, after in self._actions(world, index, machine):
                yield f"{index}: {action}", after

    def _actions(self, world: World, index: int, machine: Machine) -> Iterator[tuple[str, World]]:
        if machine.phase is Phase.IDLE:
            yield from self._begin(world, index, machine)
            return
        if world.left.crashes:
            left = world.left._replace(crashes=world.left.crashes - 1)
            yield "crash", _with(world._replace(left=left), index, _idle(machine))
        step = {
            Phase.BUNDLED: self._receive,
            Phase.CHECKED: self._commit,
            Phase.SENT: self._acknowledge,
            Phase.PULLED: self._set_aside,
            Phase.SET_ASIDE: self._read_epoch,
            Phase.RAISING: self._raise_epoch,
            Phase.RAISED: self._capture_workspace,
        }[machine.phase]
        yield from step(world, index, machine)

    def _begin(self, world: World, index: int, machine: Machine) -> Iterator[tuple[str, World]]:
        left = world.left
        if machine.history and machine.captures < left.captures:
            yield "capture", _with(world, index, _captured(machine, index))
        if machine.history:
            yield "exchange purges and decide", self._decide(world, index, machine)
        if left.adoptions and (not machine.history or machine.is_fenced):
            after = world._replace(left=left._replace(adoptions=left.adoptions - 1))
            has_purged = machine.has_purged or world.server.purge is not Purge.NONE
            pulled = machine._replace(phase=Phase.PULLED, loaded=world.server, has_purged=has_purged)
            yield "fetch the history", _with(after, index, pulled)
        if left.purges and machine.history:
            after = world._replace(left=left._replace(purges=left.purges - 1))
            yield "purge", _with(after, index, machine._replace(has_purged=True))

    # Push -----------------------------------------------------------------------------------------------------------

    def _decide(self, world: World, index: int, machine: Machine) -> World:
        world, machine = self._exchange(world, machine)
        server, target = world.server, machine.history[-1]
        is_over = server.epoch > machine.epoch and self.without != "epoch"
        if is_over or server.newest not in (*machine.history, machine.known, machine.sent):
            return _with(world, index, machine._replace(is_fenced=True))
        if machine.known is not None and server.newest.number < machine.known.number:
            return _with(world, index, machine)
        if server.newest.number >= target.number:
            return self._noted(world, index, machine, server.newest)
        made = machine._replace(phase=Phase.BUNDLED, base=server.newest.number, sent=target)
        return _with(world, index, made._replace(bundle_has_bytes=not machine.has_purged))

    def _exchange(self, world: World, machine: Machine) -> tuple[World, Machine]:
        """Take in the server's purge, and tell it of the own one: it waits for the owner of the data."""
        server = world.server
        if machine.has_purged and server.purge is Purge.NONE:
            server = server._replace(purge=Purge.WAITING)
        if machine.has_purged and server.purge is Purge.REFUSED and self.without == "refusal":
            server = _applied(server)._replace(purge=Purge.REFUSED)
        has_purged = machine.has_purged or server.purge is not Purge.NONE
        return world._replace(server=server), machine._replace(has_purged=has_purged)

    def _fits(self, server: Server, machine: Machine) -> bool:
        target = machine.history[-1]
        behind = target.epoch < server.epoch and self.without != "epoch"
        return not behind and machine.base == server.newest.number and target.number > server.newest.number

    def _receive(self, world: World, index: int, machine: Machine) -> Iterator[tuple[str, World]]:
        """The server reads the bundle to its end and checks it, before its transaction."""
        if world.server.newest == machine.history[-1]:
            yield "the push is the head already", _with(world, index, machine._replace(phase=Phase.SENT))
        elif self._fits(world.server, machine):
            yield "the server checks the bundle", _with(world, index, machine._replace(phase=Phase.CHECKED))
        else:
            yield "the server refuses the bundle", self._refused(world, index, machine)

    def _commit(self, world: World, index: int, machine: Machine) -> Iterator[tuple[str, World]]:
        server, target = world.server, machine.history[-1]
        if self.without != "transaction" and not self._fits(server, machine):
            yield "the transaction refuses the bundle", self._refused(world, index, machine)
            return
        began = {"epoch": target.epoch, "begun": server.newest.number} if target.epoch > server.epoch else {}
        made = server._replace(chain=(*server.chain, target), **began)
        is_kept_out = server.purge is Purge.APPLIED and self.without != "arrival"
        if machine.bundle_has_bytes and not is_kept_out and server.purge is Purge.APPLIED:
            made = made._replace(has_bytes=True)
        after = world._replace(server=made)
        yield "the server commits", _with(after, index, machine._replace(phase=Phase.SENT))
        if world.left.lost_answers:
            left = after.left._replace(lost_answers=after.left.lost_answers - 1)
            yield "the server commits, the answer is lost", _with(after._replace(left=left), index, _idle(machine))

    def _refused(self, world: World, index: int, machine: Machine) -> World:
        if machine.history[-1].epoch < world.server.epoch and self.without != "epoch":
            is_fenced = world.server.epoch > machine.epoch
            return _with(world, index, _idle(machine)._replace(is_fenced=is_fenced))
        return self._decide(world, index, _idle(machine))

    def _acknowledge(self, world: World, index: int, machine: Machine) -> Iterator[tuple[str, World]]:
        yield "acknowledge", self._noted(world, index, machine, machine.history[-1])

    def _noted(self, world: World, index: int, machine: Machine, newest: Sequence) -> World:
        server = world.server
        if server.epoch < machine.epoch and server.newest == newest:
            world = world._replace(server=server._replace(epoch=machine.epoch, begun=newest.number))
        done = _idle(machine)._replace(known=newest, is_fenced=False)
        return _with(world._replace(acknowledged=tuple(sorted({*world.acknowledged, newest}))), index, done)

    # Taking over ------------------------------------------------------------------------------------------------------

    def _set_aside(self, world: World, index: int, machine: Machine) -> Iterator[tuple[str, World]]:
        loaded = machine.loaded
        if world.server.newest != loaded.newest:
            yield "the head moved: shown again", _with(world, index, _idle(machine))
            return
        made = machine._replace(phase=Phase.SET_ASIDE)
        if machine.history[-len(loaded.chain) :] != loaded.chain:
            epoch = loaded.newest.epoch if self.without == "fetched" else world.server.epoch + 1
            made = made._replace(history=loaded.chain, epoch=epoch, known=None, sent=None, is_fenced=False)
        yield "exchange the history", _with(world, index, made)

    def _read_epoch(self, world: World, index: int, machine: Machine) -> Iterator[tuple[str, World]]:
        made = machine._replace(phase=Phase.RAISING, known=machine.loaded.newest, loaded=world.server)
        yield "read the epoch", _with(world, index, made)

    def _raise_epoch(self, world: World, index: int, machine: Machine) -> Iterator[tuple[str, World]]:
        server = world.server
        if server.epoch != machine.loaded.epoch:
            yield "the epoch moved", _with(world, index, _idle(machine))
            return
        raised = server._replace(epoch=server.epoch + 1, begun=server.newest.number)
        after = world._replace(server=raised)
        epoch = max(raised.epoch, machine.epoch + (machine.history[-1].epoch >= machine.epoch))
        entered = _idle(machine)._replace(epoch=epoch, is_fenced=False, phase=Phase.RAISED)
        yield "raise the epoch", _with(after, index, entered)
        if world.left.lost_answers:
            left = after.left._replace(lost_answers=after.left.lost_answers - 1)
            yield "raise the epoch, the answer is lost", _with(after._replace(left=left), index, _idle(machine))

    def _capture_workspace(self, world: World, index: int, machine: Machine) -> Iterator[tuple[str, World]]:
        yield "capture the workspace", _with(world, index, _captured(_idle(machine), index, counts=False))


def _applied(server: Server) -> Server:
    return server._replace(purge=Purge.APPLIED, has_bytes=False, was_applied=True)


def _with(world: World, index: int, machine: Machine) -> World:
    return world._replace(machines=(*world.machines[:index], machine, *world.machines[index + 1 :]))


def _idle(machine: Machine) -> Machine:
    return machine._replace(phase=Phase.IDLE, loaded=Server(), base=-1, bundle_has_bytes=False)


def _captured(machine: Machine, index: int, *, counts: bool = True) -> Machine:
    following = Sequence(machine.history[-1].number + 1, index, machine.epoch)
    return machine._replace(history=(*machine.history, following), captures=machine.captures + counts)
