"""Any order of edits, captures, restores, thinning, crashes and jumps of the clock: what was shown as kept comes back,
byte for byte, as long as it is kept, and everything else that must hold holds after every step."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from lifeboat_alf.errors import LifeboatError
from lifeboat_alf.memory.effective_view import visible_records
from lifeboat_alf.seams import crash_points
from lifeboat_alf.seams.crash_points import CrashPoint
from lifeboat_cli.demo.tree_comparison import list_differences, read_tree
from lifeboat_core.capture.capture_run import capture_agent
from lifeboat_core.errors import RestoreError
from lifeboat_core.history import thin_history
from lifeboat_core.memories import edit_records
from lifeboat_core.restore import RestoreOptions, recover_restores, restore_agent, undo_restore
from lifeboat_core.state.state_db import delete_cache
from support.core import invariants
from support.core.harbour import harbour
from support.core.protected import SteadyClock

NAMES = st.sampled_from(("MEMORY.md", "USER.md", "memory/2026-11-12.md", "memory/rules.md", "plans/chart.csv", "deep"))
TEXTS = st.sampled_from(
    (
        b"",
        b"# T\n\n## Tea\n\nGreen tea.\n",
        b"# T\n\n## Boat\n\nA red boat.\n\n## Tea\n\nGreen tea.\n",
        b"## Caf\xe9\n\nNo UTF-8.\n",
        b"Loose words.",
        b"line\r\n\r\n## CRLF\r\n\r\nends\r\n",
    )
)
PICKS = st.integers(0, 999)
"""Which of some things that depend on what happened before."""
CRASHES = st.tuples(st.sampled_from(list(CrashPoint)), st.integers(1, 3))


class Crash(BaseException):
    """The process ends here; unlike a kill, `finally` still runs."""


def crashing(step: CrashPoint, number: int) -> Callable[[CrashPoint], None]:
    left = number

    def hook(reached: CrashPoint) -> None:
        nonlocal left
        left -= reached is step
        if reached is step and left == 0:
            raise Crash

    return hook


class Life(RuleBasedStateMachine):
    """One agent, and the tree of every sequence whose workspace was looked at when it was made."""

    @initialize()
    def begin(self) -> None:
        self.folder = Path(tempfile.mkdtemp())
        self.clock, self.has_forgotten = SteadyClock(), False
        self.ada = harbour(self.folder, self.clock)
        shutil.rmtree(self.ada.workspace / "photographs")
        self.look()

    def look(self) -> None:
        """Capture; the workspace is what the newest sequence holds from now on, but for what was forgotten in it."""
        number = self.ada.capture()
        if self.has_forgotten:
            del self.ada.trees[number]

    def guarded(self, work: Callable[[], object], crash: tuple[CrashPoint, int] | None) -> None:
        """Do something, perhaps not to its end; whoever starts next finishes it."""
        crash_points.hook = crashing(*crash) if crash else None
        try:
            work()
        except Crash:
            pass
        finally:
            crash_points.hook = None
        said = recover_restores(self.ada.context)
        assert not any("could not" in each or "damaged" in each for each in said), said

    # What the agent does ----------------------------------------------------------------------------------------

    @rule(name=NAMES, text=TEXTS)
    def write(self, name: str, text: bytes) -> None:
        path = self.ada.workspace / name
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        self.put(path, text)

    @rule(name=NAMES)
    def insert_on_top(self, name: str) -> None:
        path = self.ada.workspace / name
        if path.is_file() and not path.is_symlink():
            self.put(path, b"## Inserted\n\nSomething new.\n\n" + path.read_bytes())

    def put(self, path: Path, data: bytes) -> None:
        """All at one time: touching a file makes no sequence, so the time of equal bytes is that of the first ones."""
        path.write_bytes(data)
        os.utime(path, (1_760_000_000, 1_760_000_000))

    @rule(name=NAMES, other=NAMES)
    def rename(self, name: str, other: str) -> None:
        source, target = self.ada.workspace / name, self.ada.workspace / other
        if source.exists() and name != other and not target.is_dir():
            target.parent.mkdir(parents=True, exist_ok=True)
            source.replace(target) if not source.is_dir() else None

    @rule(name=NAMES)
    def delete(self, name: str) -> None:
        path = self.ada.workspace / name
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)

    @rule(name=NAMES, mode=st.sampled_from((0o644, 0o755, 0o600)))
    def change_rights(self, name: str, mode: int) -> None:
        path = self.ada.workspace / name
        if path.is_file() and not path.is_symlink():
            path.chmod(mode)

    @rule(name=NAMES, leads_to=st.sampled_from(("MEMORY.md", "gone", "memory")))
    def link(self, name: str, leads_to: str) -> None:
        self.delete(name)
        (self.ada.workspace / name).parent.mkdir(parents=True, exist_ok=True)
        (self.ada.workspace / name).symlink_to(leads_to)

    @rule()
    def make_an_empty_folder(self) -> None:
        self.delete("deep")
        (self.ada.workspace / "deep" / "er").mkdir(parents=True)

    # What Lifeboat does -----------------------------------------------------------------------------------------

    @rule(crash=st.none() | CRASHES)
    def capture(self, crash: tuple[CrashPoint, int] | None) -> None:
        self.guarded(lambda: capture_agent(self.ada.context, self.ada.agent), crash)
        self.look()

    @rule(pick=PICKS, crash=st.none() | CRASHES)
    def restore_in_place(self, pick: int, crash: tuple[CrashPoint, int] | None) -> None:
        self.look()
        before = read_tree(self.ada.workspace)
        known = sorted(self.kept() & self.ada.trees.keys())
        if not known:
            return
        number = known[pick % len(known)]
        options = RestoreOptions(at=number, yes=True, reindex=False)
        self.guarded(lambda: restore_agent(self.ada.context, self.ada.agent, options), crash)
        now = read_tree(self.ada.workspace)
        new, old = list_differences(self.ada.trees[number], now), list_differences(before, now)
        assert not new or (crash is not None and not old), (new, old)
        self.look()

    @rule(crash=st.none() | CRASHES)
    def undo(self, crash: tuple[CrashPoint, int] | None) -> None:
        def take_back() -> None:
            try:
                undo_restore(self.ada.context, self.ada.agent)
            except RestoreError as error:
                if error.code not in (RestoreError.NOTHING_TO_UNDO.code, RestoreError.TARGET_CHANGED.code):
                    raise

        self.guarded(take_back, crash)
        self.look()

    @rule(crash=st.none() | CRASHES)
    def thin(self, crash: tuple[CrashPoint, int] | None) -> None:
        self.guarded(lambda: thin_history.apply_retention(self.ada.context, self.ada.agent), crash)

    @rule(pick=PICKS, regretted=st.booleans())
    def forget_and_perhaps_restore_a_memory(self, pick: int, regretted: bool) -> None:
        self.look()
        with self.ada.context.vault(self.ada.agent.id) as vault:
            known = [(one.record["content"], one.record["id"]) for one in visible_records(vault.state())]
        if not known:
            return
        chosen = sorted(known)[pick % len(known)][1]
        edit_records.forget_records(self.ada.context, self.ada.agent, [chosen])
        if regretted:
            edit_records.restore_records(self.ada.context, self.ada.agent, [chosen])
            self.look()
        else:
            # Its text stands in the workspace and comes back in no restore: the trees differ from now on.
            self.has_forgotten = True

    @rule()
    def lose_the_caches(self) -> None:
        delete_cache(self.ada.context.home.state_file(self.ada.agent.id))

    @rule(days=st.sampled_from((1, 8, 30, 100)))
    def time_passes(self, days: int) -> None:
        self.clock.advance(days=days)

    @rule(days=st.sampled_from((-3650, -1, 3650)))
    def the_clock_is_wrong_for_a_capture(self, days: int) -> None:
        self.clock.jump(days=days)
        self.look()
        thin_history.apply_retention(self.ada.context, self.ada.agent)
        self.clock.jump(days=-days)

    # What must hold ---------------------------------------------------------------------------------------------

    def kept(self) -> set[int]:
        with self.ada.context.vault(self.ada.agent.id) as vault:
            return {row.number for row in vault.sequences()}

    @invariant()
    def every_kept_sequence_is_what_was_signed(self) -> None:
        invariants.every_kept_sequence_has_its_digest(self.ada.context, self.ada.agent)
        invariants.the_audit_chain_is_whole(self.ada.context, self.ada.agent)
        assert not list(self.ada.context.home.restore_folder.glob("*.json"))

    def teardown(self) -> None:
        if hasattr(self, "ada"):
            invariants.always(self.ada.context, self.ada.agent, self.ada.trees)
            shutil.rmtree(self.folder)


TestLife = Life.TestCase
TestLife.settings = settings(max_examples=10, stateful_step_count=12, deadline=None)


def test_an_error_of_ours_is_no_crash() -> None:
    assert not issubclass(Crash, LifeboatError | Exception)
