"""One round of the oracle: a random life of an agent, then a restore of every kept sequence from every place, compared
with a model that uses no code of the product."""

from __future__ import annotations

import errno
import os
import random
import sqlite3
import stat
from collections.abc import Callable, Iterable
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from lifeboat_alf.errors import LifeboatError
from lifeboat_alf.seams.crash_points import CrashPoint
from lifeboat_alf.seams.file_operations import SystemFiles
from lifeboat_core.agents import manage_agents
from lifeboat_core.history import thin_history
from lifeboat_core.restore import RestoreOptions, recover_restores, restore_agent, undo_restore
from lifeboat_core.restore.restore_report import RestoreReport
from lifeboat_vault.vault import Retention
from support.core import purged
from support.failing_files import READS, WRITES, FailingFiles
from support.killing import RESTORE_STEPS, killed_at
from support.oracle import disk_model
from support.oracle.copies import HOME, REMOTES, Copies
from support.oracle.disk_model import Tree
from support.oracle.random_workspaces import RandomWorkspace, is_never_kept

SECRET = "sk-proj-" + "Zq7Rt2Lm9Xv4Bn6K" * 3
"""A credential of an invented service."""
LONG_AGO = 1_700_000_000
"""Seconds since 1970."""
CAPTURE_STEPS = [step for step in CrashPoint if step.name.startswith("CAPTURE_")]
PUSH_STEPS = [step for step in CrashPoint if step.name.startswith(("REPLICATE_", "SEALED_", "ENDPOINT_"))]
THIN_STEPS = [step for step in CrashPoint if step.name.startswith("THIN_")]


@dataclass
class Round:
    """`thorough` restores every sequence of every remote; otherwise the newest of each and all of one. `trees` is what
    must come back of each sequence, `bodies` the files in these trees that a purge may cut. `story` lists what
    happened, for failure messages."""

    seed: int
    kinds: frozenset[str]
    copies: Copies
    thorough: bool
    trees: dict[int, Tree] = field(default_factory=dict)
    bodies: dict[int, dict[bytes, bytes]] = field(default_factory=dict)
    story: list[str] = field(default_factory=list)
    texts: int = 0

    def __post_init__(self) -> None:
        self.chance = random.Random(self.seed)
        laptop = self.copies.laptop
        self.workspace = RandomWorkspace(laptop.workspace, self.chance, self.kinds, laptop.clock.now)

    def run(self) -> None:
        """Play the round. Raises AssertionError with the story and the seed."""
        try:
            self._note_new()
            for _ in range(self.chance.randrange(1, 6 if self.thorough else 3)):
                self._something_happens()
            self._compare_all()
        except (AssertionError, LifeboatError, OSError) as error:
            told = "\n  ".join(self.story)
            raise AssertionError(
                f"LIFEBOAT_ORACLE_SEED={self.seed} repeats this round:\n  {told}\n{error!r}"
            ) from error
        finally:
            self.workspace.close()

    # Events -----------------------------------------------------------------------------------------------------

    def _something_happens(self) -> None:
        self._tell("changes", [self.workspace.change() for _ in range(self.chance.randrange(1, 6))])
        self._secrets()
        self.workspace.finish()
        self.copies.laptop.clock.advance(minutes=self.chance.choice((61, 61, 300, 3000)))
        self._capture()
        others: dict[str, Callable[[], None]] = {
            "": lambda: None,
            "restores": self._restore_in_place,
            "thinning": self._thin,
            "purges": self._purge,
            "purges at an endpoint": self._purge,
            "purges of databases": self._purge_rows,
        }
        others[self.chance.choice([name for name in others if not name or name in self.kinds])]()
        for remote in REMOTES:
            if self.chance.random() < 0.3:
                self._push(remote)

    def _secrets(self) -> None:
        number = self.chance.randrange(9)
        if "secrets" in self.kinds and self.chance.random() < 0.4:
            self._write_with_secret(b".env", f"SERVICE_API_KEY={SECRET}{number}\nNAME=ada\n".encode())
        if "quoted secrets" in self.kinds and self.chance.random() < 0.4:
            self._write_with_secret(b"memory/quoted.md", f"# Key\n\nThe key is {SECRET}{number}.\n".encode())

    def _write_with_secret(self, place: bytes, body: bytes) -> None:
        """Write a file with the credential, which is stored separately: if only the credential differs, only the file's
        time may have changed."""
        self._tell("credential", place, body[-3:])
        self.workspace.write(place, body, 0o600)
        if "only mtime" not in self.kinds:
            os.utime(self.copies.laptop.workspace / os.fsdecode(place), (LONG_AGO, LONG_AGO))

    def _capture(self) -> None:
        way = self.chance.choice(["", "", "", *(name for name in ("kills", "faults") if name in self.kinds)])
        if way == "kills":
            step, nth = self.chance.choice(CAPTURE_STEPS), self.chance.randrange(1, 3)
            self._tell("capture killed at", step, killed_at(self.copies.laptop.capture, step, nth))
        elif way == "faults":
            self._capture_with_a_fault()
        self._captured()

    def _captured(self) -> None:
        laptop = self.copies.laptop
        report = laptop.capture()
        self._tell("capture", report.outcome, report.sequence)
        assert report.complete, report.not_captured()
        left_out = {path: why for path, why in report.left_out.items() if why != "not a regular file"}
        assert not left_out, left_out
        if report.held is not None:
            manage_agents.accept_removals(laptop.context, laptop.known_agent)
        self._note_new()

    def _capture_with_a_fault(self) -> None:
        """Capture while one read of the workspace or one write in the home fails. A resulting sequence has for each
        file its old or its new content, and names what it lacks."""
        laptop = self.copies.laptop
        files = FailingFiles(self.chance.choice((errno.EIO, errno.EACCES, errno.ENOSPC)))
        files.nth(self.chance.choice((READS, WRITES)), self.chance.randrange(1, 40))
        kept = self.copies.kept_here()
        laptop.files = files
        try:
            report = laptop.capture()
        except (LifeboatError, OSError) as error:
            self._tell("capture refused", type(error).__name__)
            return
        finally:
            laptop.files = SystemFiles()
        new = [number for number in self.copies.kept_here() if number not in kept]
        self._tell("capture with a fault", report.outcome, new, report.not_captured())
        if report.held is not None:
            manage_agents.accept_removals(laptop.context, laptop.known_agent)
        for number in new:
            self._note_faulty(number, named=not report.complete)

    def _note_faulty(self, number: int, *, named: bool) -> None:
        """Record a sequence of a capture with a fault as it comes back from the vault: each file has its earlier or its
        current content. `named`: the capture reported that it is not complete."""
        former, now = self.trees[max(self.trees)], self._now()
        folder, report = self.copies.restored_here(number)
        links = {os.fsencode(each["name"]) for each in report.skipped}
        found = disk_model.with_rested_databases(disk_model.read_disk(folder), now, folder)
        known = former | now
        # A restore creates neither links that lead out of the workspace nor folders that contain nothing else.
        found = {path: known[path] for path in _above(links) if path in known} | found
        found |= {path: known[path] for path in links}
        paths = (found.keys() | former.keys() | now.keys()) - self.workspace.live.keys()
        folders = _above(paths)
        differ = sorted(path for path in paths - folders if found.get(path) != now.get(path))
        strange = [path for path in differ if found.get(path) != former.get(path)]
        assert not strange, f"sequence {number} has what never was: {strange}"
        assert named or not differ, f"{differ} of sequence {number} are not named"
        self.trees[number], self.bodies[number] = found, {}

    def _push(self, remote: str) -> None:
        if "kills" in self.kinds and self.chance.random() < 0.3:
            step = self.chance.choice(PUSH_STEPS)
            nth = self.chance.randrange(1, 3)
            self._tell("push killed", remote, step, killed_at(lambda: self.copies.laptop.push(remote), step, nth))
        outcome = self.copies.laptop.push(remote)
        self._tell("push", remote, outcome.state, outcome.sequence)
        assert outcome.state == "ok", outcome

    def _restore_in_place(self) -> None:
        self._close_databases()
        laptop = self.copies.laptop
        number = self.chance.choice(self.copies.kept_here())
        before, lay = self._now(), self._on_disk()
        options = RestoreOptions(at=number, yes=True, reindex=False, with_credentials=True)

        alone = self._left_alone(number)

        def bring_back() -> RestoreReport:
            return restore_agent(laptop.context, laptop.known_agent, options)

        def compared(tree: Tree) -> Tree:
            return disk_model.without(tree, disk_model.links_out(tree) | alone)

        if "kills" in self.kinds and self.chance.random() < 0.5:
            step = self.chance.choice(RESTORE_STEPS)
            self._tell("restore killed", number, step, killed_at(bring_back, step))
            recover_restores(laptop.context)
            now = compared(self._on_disk())
            states = [compared(tree) for tree in (lay, self.trees[number])]
            wrong = [disk_model.differences(tree, now, laptop.workspace) for tree in states]
            assert not all(wrong), f"neither the old state nor the restored one: {wrong}"
            self._captured()
            return
        report = bring_back()
        self._tell("restore in place", number)
        named = {os.fsencode(each["name"]) for each in report.skipped}
        assert named <= alone, f"a restore passed over {named - alone}"
        wanted, now = (compared(tree) for tree in (self.trees[number], self._on_disk()))
        self._is(wanted, now, laptop.workspace, "in place")
        self._note_new(before)
        if report.undo and self.chance.random() < 0.3 and _files(before) != _files(now):
            undo_restore(laptop.context, laptop.known_agent)
            self._tell("undo")
            assert self._on_disk() == lay, "an undo did not bring back what was there"
            self._captured()

    def _left_alone(self, number: int) -> set[bytes]:
        """Return paths that a restore reports and leaves unchanged: links that lead out, and paths with a FIFO."""
        root = os.fsencode(self.copies.laptop.workspace)
        tree = self.trees[number]
        fifos = {path for path in tree | dict.fromkeys(_above(tree)) if _is_fifo(root + b"/" + path)}
        return disk_model.links_out(tree) | {path for path in tree if fifos & {path, *_above([path])}}

    def _thin(self) -> None:
        laptop = self.copies.laptop
        policy = Retention(0, 0, 0)
        if "kills" in self.kinds and self.chance.random() < 0.5:
            step = self.chance.choice(THIN_STEPS)
            killed = killed_at(lambda: thin_history.thin_agent(laptop.context, laptop.known_agent, policy), step)
            self._tell("thin killed", step, killed)
        thin_history.thin_agent(laptop.context, laptop.known_agent, policy)
        self._tell("thin", self.copies.kept_here())

    def _purge(self) -> None:
        """Write a text, capture, push and purge it. Other sections of the file do not contain it."""
        laptop = self.copies.laptop
        self.texts += 1
        text = f"The pass phrase of boat {self.texts} is quayside-{self.chance.randrange(10**9):09}."
        day = 1 if "purges of like files" in self.kinds else self.texts
        body = f"# Logbook {day}\n\nDay {day} is calm.\n\n## Phrase\n\n{text}\n\n## Rope\n\nRope {day} is new.\n"
        place = self.chance.choice((f"memory/log-{day}.md", f"plans/log-{day}.csv")).encode()
        self.workspace.write(place, body.encode(), 0o644)
        self._captured()
        for remote in REMOTES if "purges at an endpoint" in self.kinds else [each for each in REMOTES if each != HOME]:
            if self.chance.random() < 0.5:
                assert laptop.push(remote).state == "ok"
        purged.purge(laptop, purged.request(text=text, passage=True, workspace=self.chance.random() < 0.5))
        self._tell("purge", place)
        for number, tree in self.trees.items():
            self.trees[number] = disk_model.without_text(tree, self.bodies[number], text.encode())
        os.unlink(os.fsencode(laptop.workspace) + b"/" + place)
        self.workspace.finish()
        self._captured()

    def _purge_rows(self) -> None:
        """Capture, push and purge a row of a database. The database changes before the text leaves it, and contains it
        once more in other words, which no capture takes."""
        laptop = self.copies.laptop
        self.texts += 1
        text = f"Quayside Lantern {self.chance.randrange(10**9):09} of Boat {self.texts}"
        place = f"rows/log-{self.texts}.db"
        self._write_rows(place, ["calm", f"it is: {text}.", "rope"])
        self._captured()
        for remote in REMOTES if "purges at an endpoint" in self.kinds else [each for each in REMOTES if each != HOME]:
            if self.chance.random() < 0.5:
                assert laptop.push(remote).state == "ok"
        cut = self.chance.random() < 0.5
        purged.purge(laptop, purged.request(text=text, passage=True, workspace=cut))
        self._tell("purge of a row", place, cut)
        for number, tree in self.trees.items():
            self.trees[number] = disk_model.without_text(tree, self.bodies[number], text.encode())
        path = laptop.workspace / place
        self._write_rows(place, [*([] if cut else ["tide"]), f"again ({text}), he said"])
        laptop.clock.advance(minutes=61)
        report = laptop.capture()
        self._tell("capture", report.outcome, report.sequence, report.kept_out)
        assert f"artifacts/{place}" in report.kept_out
        body = path.read_bytes()
        now = self._now()
        now[place.encode()] = disk_model.Node(
            disk_model.DATABASE, disk_model.rows_without(body, text.encode()), now[place.encode()].mode
        )
        for number in self.copies.kept_here():
            if number not in self.trees:
                self.trees[number], self.bodies[number] = now, {}
        path.unlink()
        self.workspace.finish()
        self._captured()

    def _write_rows(self, place: str, texts: list[str]) -> None:
        path = self.copies.laptop.workspace / place
        path.parent.mkdir(exist_ok=True)
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute("create table if not exists fact (id integer primary key, text)")
            connection.executemany("insert into fact (text) values (?)", [(text,) for text in texts])
        moment = self.copies.laptop.clock.now().timestamp() - 60
        os.utime(path, (moment, moment))

    # The model --------------------------------------------------------------------------------------------------

    def _now(self) -> Tree:
        """Return what a sequence captured now must contain."""
        now = self._on_disk()
        if not self.trees:
            return now
        former = self.trees[max(self.trees)]
        return disk_model.with_rested_databases(now, former, self.copies.laptop.workspace)

    def _on_disk(self) -> Tree:
        return disk_model.read_disk(self.copies.laptop.workspace, self.workspace.live, is_never_kept)

    def _note_new(self, before: Tree | None = None) -> None:
        """Record the workspace as the newest sequence, and earlier changes as `before`."""
        now = self._now()
        new = [number for number in self.copies.kept_here() if number not in self.trees]
        for number in new:
            self.trees[number] = now if before is None or number == new[-1] else before
            self.bodies[number] = self._bodies(self.trees[number])
        head = max(self.trees)
        assert self.trees[head] == now, f"sequence {head} is not what lies there"

    def _bodies(self, tree: Tree) -> dict[bytes, bytes]:
        root = os.fsencode(self.copies.laptop.workspace)
        found = {}
        for path, node in tree.items():
            if b"/log-" in path and node.kind == disk_model.FILE and os.path.isfile(root + b"/" + path):
                with open(root + b"/" + path, "rb") as stream:
                    found[path] = stream.read()
        return found

    def _close_databases(self) -> None:
        if self.workspace.live:
            self.workspace.close()
            self._captured()

    # Checks -----------------------------------------------------------------------------------------------------

    def _compare_all(self) -> None:
        copies = self.copies
        for number in copies.kept_here():
            self._came_back(number, *copies.restored_here(number), "the vault")
        wholly = REMOTES if self.thorough else (self.chance.choice(REMOTES),)
        for remote in REMOTES:
            outcome = copies.laptop.push(remote)
            assert outcome.state == "ok", outcome
            numbers = copies.kept_at(remote)
            assert max(numbers) == max(copies.kept_here())
            for number in numbers if remote in wholly else numbers[-1:]:
                self._came_back(number, *copies.restored_from(remote, number), remote)
        if self.chance.random() < 0.3:
            remote = self.chance.choice(REMOTES)
            copies.history_of(remote)
            assert copies.is_verified(remote), f"{remote} does not hold"
        before = max(copies.kept_here())
        self._captured()
        assert max(copies.kept_here()) == before, "a capture of what was captured is something new"

    def _came_back(self, number: int, folder: Path, report: RestoreReport, place: str) -> None:
        """Compare a restored copy with the model. What no restore creates must be named in its report."""
        tree = self.trees[number]
        named = {os.fsencode(each["name"]) for each in report.skipped}
        assert named == disk_model.links_out(tree), f"sequence {number} of {place} names {named}"
        wanted, found = disk_model.without_links_out(tree), disk_model.read_disk(folder)
        self._is(wanted, found, folder, f"sequence {number} of {place}")

    def _is(self, wanted: Tree, found: Tree, folder: Path, what: str) -> None:
        said = disk_model.differences(wanted, found, folder)
        assert not said, f"{what}: " + "; ".join(said[:12])

    def _tell(self, *words: object) -> None:
        self.story.append(" ".join(map(str, words)))


def _is_fifo(path: bytes) -> bool:
    try:
        return stat.S_ISFIFO(os.lstat(path).st_mode)
    except OSError:
        return False


def _files(tree: Tree) -> Tree:
    return {path: node for path, node in tree.items() if node.kind != disk_model.FOLDER}


def _above(paths: Iterable[bytes]) -> set[bytes]:
    """Return the folders that contain these paths."""
    return {path[:place] for path in paths for place, byte in enumerate(path) if byte == ord("/")}
