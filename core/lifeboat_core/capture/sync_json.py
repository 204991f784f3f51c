"""Describe a capture as `sync --json` prints it, for commands and the daemon."""

from __future__ import annotations

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.errors import LifeboatError
from lifeboat_core.agents.agent import Agent
from lifeboat_core.capture.capture_report import KEPT_OUT, ROOT_MISSING, CaptureReport


def report_document(agent: Agent, report: CaptureReport) -> JsonObject:
    """Return one agent of `sync --json`."""
    state = "error" if report.outcome == ROOT_MISSING else "held" if report.held else "ok"
    return {"name": agent.name, "state": state, **report.to_json(), "remotes": []}


def list_left_out(document: JsonObject) -> dict[str, str]:
    """Return the files whose present version is not in the newest sequence, with the reason."""
    over_limit = {path: document["left_out"].get(path, KEPT_OUT) for path in document["over_limit"]}
    return {**over_limit, **document["unread"], **document["unstable"], **document["waiting"]}


def is_whole(document: JsonObject) -> bool:
    """Return whether a capture took everything that it should. Otherwise commands that capture exit with 1."""
    return document["state"] != "error" and not list_left_out(document)


def failure_document(agent: Agent, sequence: int | None, error: LifeboatError) -> JsonObject:
    """Return the document of a capture that failed. `sequence` is the newest one, which stays; None when there
    is none."""
    report = CaptureReport(agent.id, sequence=sequence, warnings=[f"{error.title}: {error.message}"])
    return {**report_document(agent, report), "state": "error", "code": error.code, "fix": error.fix}
