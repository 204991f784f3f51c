"""The inputs and the report of one capture."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from lifeboat_alf.common import ids, times
from lifeboat_alf.states.agent_state import State
from lifeboat_core.agents.agent import Agent
from lifeboat_core.capture.capture_report import ROOT_MISSING, CaptureReport
from lifeboat_core.capture.overlay import Overlay
from lifeboat_core.home.context import Context
from lifeboat_core.memories import memory_search
from lifeboat_core.purge.keep_out import KeepOut
from lifeboat_core.settings.config_file import Config
from lifeboat_core.state.state_db import StateDb
from lifeboat_vault.vault import SequenceRow, Vault


@dataclass(frozen=True, slots=True)
class CaptureSession:
    """One capture of one agent. `head` and `state` are None before the first sequence; `now` is never before the head.
    `keep_out` filters purged text; `purges` is the number of redactions known when the head was read. `paced`: the user
    did not ask for this capture, so large files can wait."""

    context: Context
    agent: Agent
    vault: Vault
    db: StateDb
    kind: str
    head: SequenceRow | None
    state: State | None
    overlay: Overlay
    config: Config
    report: CaptureReport
    now: str
    keep_out: KeepOut
    purges: int
    paced: bool = False

    @classmethod
    def begin(
        cls, context: Context, agent: Agent, vault: Vault, db: StateDb, kind: str, *, paced: bool = False
    ) -> CaptureSession:
        """Read the head, and update the look-ups in `db` to it."""
        purges, keep_out = len(vault.redactions), KeepOut.of(context, vault)
        head = vault.head()
        state = vault.state() if head is not None else None
        report = CaptureReport(agent.id, sequence=None if head is None else head.number)
        now = max(context.now(), "" if head is None else head.time)
        memory_search.update_index(db, vault)
        overlay, config = Overlay(state), context.config()
        return cls(context, agent, vault, db, kind, head, state, overlay, config, report, now, keep_out, purges, paced)

    def setting(self, name: str) -> Any:
        return self.config.get(name, self.agent.settings).value

    def stable_id(self, *parts: str) -> str:
        """Return an id that this vault always makes for the same parts. Its time is that of the agent's id."""
        milliseconds = int(self.agent.id.replace("-", "")[:12], 16)
        return ids.mint_id(self.vault.seed, times.to_text(times.from_nanoseconds(milliseconds * 1_000_000)), *parts)

    def missing(self, reason: str) -> None:
        """Report that the workspace is missing and nothing is captured."""
        self.report.outcome = ROOT_MISSING
        self.report.absent = reason
