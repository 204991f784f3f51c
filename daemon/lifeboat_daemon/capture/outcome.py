"""A capture as `sync --json` tells it, whether a command made it or the daemon."""

from __future__ import annotations

from typing import Any

from lifeboat_alf.errors import LifeboatError
from lifeboat_daemon.agent import Agent
from lifeboat_daemon.capture.report import ROOT_MISSING, CaptureReport

JsonObject = dict[str, Any]


def report_document(agent: Agent, report: CaptureReport) -> JsonObject:
    """One agent of `sync --json`."""
    state = "error" if report.outcome == ROOT_MISSING else "held" if report.held else "ok"
    return {"name": agent.name, "state": state, **report.to_json(), "remotes": []}


def failure_document(agent: Agent, sequence: int | None, error: LifeboatError) -> JsonObject:
    """A capture that came to nothing. `sequence` is the newest one, which stays; None where there is none."""
    report = CaptureReport(agent.id, sequence=sequence, warnings=[f"{error.title}: {error.message}"])
    return {**report_document(agent, report), "state": "error", "code": error.code, "fix": error.fix}
