"""The protocol of sealed remotes as a small explicit model: machines that push, take over, purge, compact and crash,
and a store of immutable files under one head for each agent.

A step of the model is what happens between two crash points of the real code (`CrashPoint`); the action's name has that
point. Bytes, keys and signatures are left out: a sequence is its number, its writer and its epoch.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from typing import NamedTuple

from lifeboat_alf.seams.crash_points import CrashPoint


class Store(StrEnum):
    """What a store does when a head is replaced."""

    COMPARE_AND_SET = "compare-and-set"
    CREATE_ONLY = "create-only"
    """Heads are numbered objects that are only ever created; old ones may be removed."""
    BLIND = "blind"
    """The condition is ignored."""
    LAGGING = "lagging"
    """A read may return the head before the newest one."""


class Sequence(NamedTuple):
    """A state of the agent."""

    number: int
    writer: int
    epoch: int


class File(NamedTuple):
    """A bundle in the store. `generation` counts the purges that its writer knew; `is_dirty`: it has the purged bytes;
    `is_old`: it lies there for more than a day."""

    id: int
    generation: int
    is_dirty: bool
    is_old: bool = False


class Row(NamedTuple):
    """A sequence in the head, the number of its base (-1 for a snapshot), and its file."""

    sequence: Sequence
    base: int
    file: int


class Head(NamedTuple):
    """The head of the agent's log. `purge` is 0 for none, 1 while files are rewritten, 2 when that is done; `begun` is
    the number of the newest sequence when the epoch began."""

    version: int = 0
    epoch: int = 1
    rows: tuple[Row, ...] = ()
    purge: int = 0
    begun: int = -1

    @property
    def newest(self) -> Sequence | None:
        return max((row.sequence for row in self.rows), default=None)

    @property
    def generation(self) -> int:
        return min(self.purge, 1)


class Phase(StrEnum):
    """Where a machine is; what it remembers there is lost in a crash."""

    IDLE = "idle"
    DECIDED = CrashPoint.REPLICATE_DECIDED
    WRITTEN = CrashPoint.SEALED_HEAD_REPLACED
    SENT = CrashPoint.REPLICATE_SENT
    PULLED = CrashPoint.ADOPT_PULLED
    SET_ASIDE = CrashPoint.ADOPT_SET_ASIDE
    RAISING = "epoch read"
    RAISED = CrashPoint.ADOPT_EPOCH_RAISED
    HELD = "purge held"
    REWRITTEN = CrashPoint.SEALED_REWRITTEN
    PURGING = "purged files swept"
    COMPACTED = "snapshot written"
    SWEEPING = CrashPoint.SEALED_SWEPT
    REMOVING = "sweep checked"


class Machine(NamedTuple):
    """A machine of the user. The first line is in its vault, the second one only in memory."""

    history: tuple[Sequence, ...] = ()
    epoch: int = 1
    known: Sequence | None = None
    sent: Sequence | None = None
    is_fenced: bool = False
    has_purged: bool = False
    captures: int = 0
    phase: Phase = Phase.IDLE
    loaded: Head = Head()
    file: int = -1
    slept: bool = False
    unnamed: tuple[int, ...] = ()


class Limits(NamedTuple):
    """How often each thing may happen, so that the search ends."""

    captures: int = 2
    crashes: int = 1
    lost_answers: int = 1
    adoptions: int = 2
    purges: int = 0
    compactions: int = 0
    days: int = 0
    cleanings: int = 0


class World(NamedTuple):
    """Everything: the store with its files, the machines, and what may still happen.

    `before` is the head before the newest one. Heads below `kept_from` were removed, those below `old_below` are older
    than a day.
    """

    head: Head
    before: Head
    files: tuple[File, ...]
    machines: tuple[Machine, ...]
    left: Limits
    acknowledged: tuple[Sequence, ...] = ()
    old_below: int = 0
    kept_from: int = 0


class SealedProtocol:
    """The actions of the protocol at one kind of store.

    `without` leaves out one check, to show that the search finds what it is for: "head" (a head is replaced although it
    moved), "epoch", "generation" (a file written before a purge is named after it), "age" (a file that may have been
    swept is named), "fetched" (a fetched history goes on in the epoch of the machine that wrote it).
    """

    def __init__(self, store: Store, *, without: str = "") -> None:
        self.store = store
        self.without = without

    def start(self, machines: int, limits: Limits) -> World:
        """Return the first world: the first machine has captured and pushed sequence 0."""
        first = Sequence(0, 0, 1)
        head = Head(1, 1, (Row(first, -1, 0),))
        writer = Machine((first,), known=first, sent=first)
        others = (Machine(epoch=0),) * (machines - 1)
        return World(head, head, (File(0, 0, True),), (writer, *others), limits, (first,))

    def taken_over(self, limits: Limits) -> World:
        """Return the world of two machines in which the second one took the agent over and pushed sequence 1."""
        world = self.start(2, Limits(captures=0, crashes=0, lost_answers=0, adoptions=1))
        while world.machines[1].known != Sequence(1, 1, 2):
            world = next(after for action, after in self.successors(world) if _is_of_second(action))
        return world._replace(left=limits)

    # Invariants ---------------------------------------------------------------------------------------------------

    def find_fault(self, world: World) -> str:
        """Return which invariant a world breaks, "" for none."""
        head, files = world.head, {file.id: file for file in world.files}
        there = {row.sequence for row in head.rows}
        if lost := [each for each in world.acknowledged if each not in there]:
            return f"an acknowledged sequence is lost: {lost[0]}"
        if missing := [row for row in head.rows if row.file not in files]:
            return f"the head names a file that was removed: {missing[0]}"
        numbers = {row.sequence.number for row in head.rows}
        if dangling := [row for row in head.rows if row.base >= 0 and row.base not in numbers]:
            return f"a delta has no base: {dangling[0]}"
        writers: dict[int, int] = {}
        for row in head.rows:
            if writers.setdefault(row.sequence.epoch, row.sequence.writer) != row.sequence.writer:
                return f"two machines wrote in epoch {row.sequence.epoch}"
        if late := [row for row in head.rows if row.base >= head.begun >= 0 and row.sequence.epoch < head.epoch]:
            return f"a sequence was added after its epoch had ended: {late[0].sequence}"
        if head.purge == 2:
            for row in head.rows:
                if files[row.file].is_dirty:
                    return f"purged bytes came back: {row}"
            if stays := [file for file in world.files if file.is_dirty and file.generation >= head.generation]:
                return f"purged bytes stay in a file that no sweep removes: {stays[0]}"
        return ""

    # Actions ------------------------------------------------------------------------------------------------------

    def successors(self, world: World) -> Iterator[tuple[str, World]]:
        """Yield every action that is possible, as "MACHINE: action"."""
        if world.left.days:
            yield "a day passes", self._day(world)
        if world.left.cleanings and world.kept_from < world.old_below:
            left = world.left._replace(cleanings=world.left.cleanings - 1)
            yield "old heads are removed", world._replace(kept_from=world.old_below, left=left)
        for index, machine in enumerate(world.machines):
            for action, after in self._actions(world, index, machine):
                yield f"{index}: {action}", after

    def _day(self, world: World) -> World:
        files = tuple(file._replace(is_old=True) for file in world.files)
        machines = tuple(each._replace(slept=each.phase is not Phase.IDLE) for each in world.machines)
        left = world.left._replace(days=world.left.days - 1)
        return world._replace(files=files, machines=machines, left=left, old_below=world.head.version)

    def _actions(self, world: World, index: int, machine: Machine) -> Iterator[tuple[str, World]]:
        if machine.phase is not Phase.IDLE and world.left.crashes:
            left = world.left._replace(crashes=world.left.crashes - 1)
            yield "crash", _with(world._replace(left=left), index, _idle(machine))
        if machine.phase is Phase.IDLE:
            yield from self._begin(world, index, machine)
            return
        step = {
            Phase.DECIDED: self._write,
            Phase.WRITTEN: self._replace_head,
            Phase.SENT: self._acknowledge,
            Phase.PULLED: self._set_aside,
            Phase.SET_ASIDE: self._read_epoch,
            Phase.RAISING: self._raise_epoch,
            Phase.RAISED: self._capture_workspace,
            Phase.HELD: self._rewrite,
            Phase.REWRITTEN: self._replace_rewritten,
            Phase.PURGING: self._finish_purge,
            Phase.COMPACTED: self._replace_compacted,
            Phase.SWEEPING: self._check_sweep,
            Phase.REMOVING: self._remove,
        }[machine.phase]
        yield from step(world, index, machine)

    def _begin(self, world: World, index: int, machine: Machine) -> Iterator[tuple[str, World]]:
        left = world.left
        if machine.history and machine.captures < left.captures:
            yield "capture", _with(world, index, _captured(machine, index))
        if machine.history:
            for head in self._readable(world):
                yield f"read head {head.version}", self._decide(world, index, machine, head)
        if left.adoptions and (not machine.history or machine.is_fenced):
            for head in self._readable(world):
                pulled = machine._replace(phase=Phase.PULLED, loaded=head)
                after = world._replace(left=left._replace(adoptions=left.adoptions - 1))
                yield f"adopt head {head.version}", _with(after, index, pulled)
        if left.purges and machine.history:
            after = world._replace(left=left._replace(purges=left.purges - 1))
            yield "purge", _with(after, index, machine._replace(has_purged=True))
        if left.compactions and machine.known is not None and machine.known == world.head.newest:
            yield from self._compact(world, index, machine)

    def _readable(self, world: World) -> tuple[Head, ...]:
        """Return the heads that a read may show."""
        if self.store is Store.LAGGING and world.before != world.head:
            return (world.head, world.before)
        return (world.head,)

    # Push -----------------------------------------------------------------------------------------------------------

    def _decide(self, world: World, index: int, machine: Machine, head: Head) -> World:
        """Exchange purges, look the head up in the own history, and decide."""
        machine = machine._replace(has_purged=machine.has_purged or head.purge > 0)
        if machine.has_purged and head.purge < 2:
            return self._hold(world, index, machine)
        newest, target = head.newest, machine.history[-1]
        assert newest is not None
        if head.epoch > machine.epoch and self.without != "epoch":
            return _with(world, index, machine._replace(is_fenced=True))
        if newest not in (*machine.history, machine.known, machine.sent):
            return _with(world, index, machine._replace(is_fenced=True))
        if machine.known is not None and newest.number < machine.known.number:
            return _with(world, index, machine)  # the remote forgot something: nothing is sent
        if newest.number >= target.number:
            return self._noted(world, index, machine, newest)
        return _with(world, index, machine._replace(phase=Phase.DECIDED))

    def _noted(self, world: World, index: int, machine: Machine, newest: Sequence) -> World:
        """Note what is there, and tell the remote of an epoch that this machine began while the remote was away."""
        if world.head.epoch < machine.epoch and world.head.newest == newest:
            enforced = world.head._replace(epoch=machine.epoch, begun=newest.number)
            world = self._replaced(world, enforced, world.head)
        done = _idle(machine)._replace(known=newest, is_fenced=False)
        acknowledged = tuple(sorted({*world.acknowledged, newest}))
        return _with(world._replace(acknowledged=acknowledged), index, done)

    def _write(self, world: World, index: int, machine: Machine) -> Iterator[tuple[str, World]]:
        """Load the head again, check that the bundle fits, write its file."""
        for head in self._readable(world):
            yield f"write under head {head.version}", self._written(world, index, machine, head)

    def _written(self, world: World, index: int, machine: Machine, head: Head) -> World:
        target = machine.history[-1]
        if not self._fits(head, machine):
            return self._refused(world, index, machine, head)
        world, file = _file_added(world, head.generation, is_dirty=False)
        made = machine._replace(phase=Phase.WRITTEN, loaded=head, file=file, sent=target, slept=False)
        return _with(world, index, made)

    def _refused(self, world: World, index: int, machine: Machine, head: Head) -> World:
        """End because the epoch is over, or decide again because the base is not the newest sequence any more."""
        if machine.history[-1].epoch < head.epoch and self.without != "epoch":
            return _with(world, index, _idle(machine)._replace(is_fenced=head.epoch > machine.epoch))
        return self._decide(world, index, _idle(machine), head)

    def _fits(self, head: Head, machine: Machine) -> bool:
        target, newest = machine.history[-1], head.newest
        assert newest is not None
        behind = target.epoch < head.epoch and self.without != "epoch"
        known = newest in (*machine.history, machine.known, machine.sent)
        return not behind and known and target.number > newest.number

    def _replace_head(self, world: World, index: int, machine: Machine) -> Iterator[tuple[str, World]]:
        target, loaded = machine.history[-1], machine.loaded
        newest = loaded.newest
        assert newest is not None
        row = Row(target, newest.number, machine.file)
        made = loaded._replace(rows=(*loaded.rows, row))
        if target.epoch > loaded.epoch:
            made = made._replace(epoch=target.epoch, begun=newest.number)
        slept = machine.slept and self.without != "age"
        if self._may_replace(world, loaded) and not slept:
            after = self._replaced(world, made, loaded)
            yield "replace head", _with(after, index, machine._replace(phase=Phase.SENT))
            if world.left.lost_answers:
                left = after.left._replace(lost_answers=after.left.lost_answers - 1)
                yield "replace head, the answer is lost", _with(after._replace(left=left), index, _idle(machine))
            return
        for head in self._readable(world):
            yield f"head moved to {head.version}", self._moved(world, index, machine, head)

    def _write_anew(self, world: World, index: int, machine: Machine, head: Head) -> World:
        world = _without_files(world, {machine.file})
        return self._written(world, index, machine, head)

    def _moved(self, world: World, index: int, machine: Machine, head: Head) -> World:
        """Try again under a head that another machine replaced."""
        target = machine.history[-1]
        if head.newest == target:
            named = {row.file for row in head.rows}
            swept = _without_files(world, {machine.file} - named)
            return _with(swept, index, machine._replace(phase=Phase.SENT))
        if not self._fits(head, machine):
            return self._refused(_without_files(world, {machine.file}), index, machine, head)
        was_written_before = machine.loaded.generation != head.generation and self.without != "generation"
        if was_written_before or (machine.slept and self.without != "age"):
            return self._write_anew(world, index, machine, head)
        return _with(world, index, machine._replace(loaded=head))

    def _acknowledge(self, world: World, index: int, machine: Machine) -> Iterator[tuple[str, World]]:
        yield "acknowledge", self._noted(world, index, machine, machine.history[-1])

    # Taking over ------------------------------------------------------------------------------------------------------

    def _set_aside(self, world: World, index: int, machine: Machine) -> Iterator[tuple[str, World]]:
        """Check that the head did not move since it was shown, and exchange the history."""
        if world.head.newest != machine.loaded.newest:
            yield "the head moved: shown again", _with(world, index, _idle(machine))
            return
        history = tuple(sorted({row.sequence for row in machine.loaded.rows}))
        is_own = machine.history[: len(history)] == history and (
            machine.history == history or machine.loaded.epoch <= machine.epoch
        )
        made = machine._replace(phase=Phase.SET_ASIDE)
        if not is_own:  # the vault of the fetched history takes the place of the own one, with all its notes
            in_force = max(each.epoch for each in history) if self.without == "fetched" else machine.loaded.epoch + 1
            made = made._replace(history=history, epoch=in_force, known=None, sent=None, is_fenced=False)
        yield "exchange the history", _with(world, index, made)

    def _read_epoch(self, world: World, index: int, machine: Machine) -> Iterator[tuple[str, World]]:
        for head in self._readable(world):
            made = machine._replace(phase=Phase.RAISING, loaded=head, known=machine.loaded.newest)
            yield f"read epoch {head.epoch}", _with(world, index, made)

    def _raise_epoch(self, world: World, index: int, machine: Machine) -> Iterator[tuple[str, World]]:
        """Raise the epoch if it is still the one that was read."""
        if world.head.epoch != machine.loaded.epoch:
            yield "the epoch moved", _with(world, index, _idle(machine))
            return
        newest = world.head.newest
        assert newest is not None
        raised = world.head._replace(epoch=world.head.epoch + 1, begun=newest.number)
        after = self._replaced(world, raised, world.head)
        was_used = machine.history[-1].epoch >= machine.epoch
        epoch = max(after.head.epoch, machine.epoch + was_used)
        entered = _idle(machine)._replace(epoch=epoch, is_fenced=False, phase=Phase.RAISED)
        yield "raise the epoch", _with(after, index, entered)
        if world.left.lost_answers:
            left = after.left._replace(lost_answers=after.left.lost_answers - 1)
            yield "raise the epoch, the answer is lost", _with(after._replace(left=left), index, _idle(machine))

    def _capture_workspace(self, world: World, index: int, machine: Machine) -> Iterator[tuple[str, World]]:
        yield "capture the workspace", _with(world, index, _captured(_idle(machine), index, counts=False))

    # Purges -----------------------------------------------------------------------------------------------------------

    def _hold(self, world: World, index: int, machine: Machine) -> World:
        """Hold the redaction: from now on no machine names a file that was written without it."""
        after = world if world.head.purge else self._replaced(world, world.head._replace(purge=1), world.head)
        return _with(after, index, machine._replace(phase=Phase.HELD, loaded=Head()))

    def _rewrite(self, world: World, index: int, machine: Machine) -> Iterator[tuple[str, World]]:
        """Write clean files for the dirty ones that the head names."""
        head = world.head
        if head.purge == 2:
            yield "the purge is done", _with(world, index, _idle(machine))
            return
        dirty = {file.id for file in world.files if file.is_dirty}
        after, rows = world, list[Row]()
        for row in head.rows:
            if row.file in dirty:
                after, file = _file_added(after, head.generation, is_dirty=False)
                rows.append(row._replace(file=file))
            else:
                rows.append(row)
        made = head._replace(rows=tuple(rows))
        phase = Phase.PURGING if made == head else Phase.REWRITTEN
        yield "write clean files", _with(after, index, machine._replace(phase=phase, loaded=made, slept=False))

    def _replace_rewritten(self, world: World, index: int, machine: Machine) -> Iterator[tuple[str, World]]:
        yield from self._advance(world, index, machine, machine.loaded, Phase.PURGING, Phase.HELD)

    def _finish_purge(self, world: World, index: int, machine: Machine) -> Iterator[tuple[str, World]]:
        """Remove the files of former generations, then note that nothing is pending."""
        if world.head.version != machine.loaded.version:
            yield "head moved", _with(world, index, machine._replace(phase=Phase.HELD, loaded=Head()))
            return
        named = {row.file for row in world.head.rows}
        gone = {file.id for file in world.files if file.id not in named and file.generation < world.head.generation}
        swept = self._replaced(_without_files(world, gone), world.head._replace(purge=2), world.head)
        yield "sweep, and finish the purge", _with(swept, index, _idle(machine))

    # Staying small ----------------------------------------------------------------------------------------------------

    def _compact(self, world: World, index: int, machine: Machine) -> Iterator[tuple[str, World]]:
        """Write a snapshot of the newest state."""
        head = world.head
        if head.purge and not machine.has_purged:
            return
        left = world.left._replace(compactions=world.left.compactions - 1)
        after, file = _file_added(world._replace(left=left), head.generation, is_dirty=not machine.has_purged)
        assert head.newest is not None
        made = head._replace(rows=(*head.rows, Row(head.newest, -1, file)))
        loaded = machine._replace(phase=Phase.COMPACTED, loaded=made, slept=False)
        yield "write a snapshot", _with(after, index, loaded)

    def _replace_compacted(self, world: World, index: int, machine: Machine) -> Iterator[tuple[str, World]]:
        yield from self._advance(world, index, machine, machine.loaded, Phase.SWEEPING, Phase.IDLE)

    def _check_sweep(self, world: World, index: int, machine: Machine) -> Iterator[tuple[str, World]]:
        """List what no head names for a day, and check that the head did not move."""
        head = world.head
        named = {row.file for row in head.rows}
        unnamed = tuple(
            file.id
            for file in world.files
            if file.id not in named and (file.is_old or file.generation < head.generation)
        )
        made = machine._replace(phase=Phase.REMOVING, unnamed=unnamed)
        yield "list what no head names", _with(world, index, made)

    def _remove(self, world: World, index: int, machine: Machine) -> Iterator[tuple[str, World]]:
        yield "remove it", _with(_without_files(world, set(machine.unnamed)), index, _idle(machine))

    # Heads --------------------------------------------------------------------------------------------------------

    def _advance(
        self, world: World, index: int, machine: Machine, made: Head, then: Phase, otherwise: Phase
    ) -> Iterator[tuple[str, World]]:
        """Replace the head by one that was made under the loaded one, if that is still in place."""
        if machine.slept and self.without != "age":
            yield "begin anew after a long sleep", _with(world, index, machine._replace(phase=otherwise, slept=False))
        elif self._may_replace(world, made):
            after = self._replaced(world, made, made)
            yield "replace head", _with(after, index, machine._replace(phase=then, loaded=after.head))
        else:
            named = {row.file for row in world.head.rows}
            taken_back = _without_files(world, {row.file for row in made.rows} - named)
            yield "head moved", _with(taken_back, index, machine._replace(phase=otherwise, loaded=Head()))

    def _may_replace(self, world: World, loaded: Head) -> bool:
        """Return whether the store accepts a head that was made under `loaded`."""
        if self.without == "head" or self.store is Store.BLIND:
            return True
        if self.store is Store.CREATE_ONLY:
            return not world.kept_from <= loaded.version + 1 <= world.head.version
        return loaded.version == world.head.version

    def _replaced(self, world: World, head: Head, loaded: Head) -> World:
        if self.store is Store.CREATE_ONLY and loaded.version < world.head.version:
            return world  # an old head came back under its number: every reader goes on to the newest one
        return world._replace(head=head._replace(version=world.head.version + 1), before=world.head)


def _is_of_second(action: str) -> bool:
    return action.startswith("1: ") and not action.endswith(("crash", "capture", "lost"))


def _with(world: World, index: int, machine: Machine) -> World:
    machines = (*world.machines[:index], machine, *world.machines[index + 1 :])
    return world._replace(machines=machines)


def _idle(machine: Machine) -> Machine:
    return machine._replace(phase=Phase.IDLE, loaded=Head(), file=-1, slept=False, unnamed=())


def _captured(machine: Machine, index: int, *, counts: bool = True) -> Machine:
    following = Sequence(machine.history[-1].number + 1, index, machine.epoch)
    return machine._replace(history=(*machine.history, following), captures=machine.captures + counts)


def _file_added(world: World, generation: int, *, is_dirty: bool) -> tuple[World, int]:
    """Add a file under the smallest id that nothing names: so worlds that differ in names only are the same."""
    taken = {file.id for file in world.files} | {row.file for row in world.head.rows}
    for machine in world.machines:
        taken |= {machine.file, *machine.unnamed, *(row.file for row in machine.loaded.rows)}
    file = File(next(id for id in range(len(taken) + 1) if id not in taken), generation, is_dirty)
    return world._replace(files=tuple(sorted((*world.files, file)))), file.id


def _without_files(world: World, gone: set[int]) -> World:
    return world._replace(files=tuple(file for file in world.files if file.id not in gone))
