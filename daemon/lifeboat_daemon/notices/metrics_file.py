"""Write metrics for Prometheus as a text file that its node exporter reads (`metrics.file`).

Health is derived from the last verified copy, never from the end of a job. All functions but `write_metrics` are pure.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from lifeboat_alf.common import times
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.seams.file_operations import FileOperations, read_all, write_atomic
from lifeboat_core.health.agent_status import WORST_FIRST, AgentStatus
from lifeboat_core.health.remote_health import RemoteFacts
from lifeboat_core.health.state_words import ERROR, FENCED, HELD, OK, WAITING
from lifeboat_core.system_refusals import convert_system_errors

STATES = tuple(sorted(WORST_FIRST))
REMOTE_STATES = tuple(sorted((ERROR, FENCED, HELD, OK, WAITING)))
_ESCAPES = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})


class AgentMetrics(msgspec.Struct, frozen=True):
    """An agent and how many of its captures succeeded and failed since the daemon started."""

    status: AgentStatus
    captures: int = 0
    failures: int = 0


class DaemonMetrics(msgspec.Struct, frozen=True):
    """All metrics of one file. `started_at` is when the daemon started; `running` is False in the last file that it
    writes."""

    agents: list[AgentMetrics]
    started_at: str | None = None
    version: str = ""
    running: bool = True

    @classmethod
    def of(cls, status: JsonObject, counters: JsonObject, daemon: JsonObject | None = None) -> DaemonMetrics:
        """Build the metrics from plain data: the agents of `status`; `captures` and `failures` since the daemon
        started, by agent id; `started_at`, `version` and `running` of the daemon. Raises KeyError,
        msgspec.ValidationError."""
        found = [{"status": each, **counters.get(each["id"], {})} for each in status["agents"]]
        return msgspec.convert({"agents": found, **(daemon or {})}, cls)


Sample = tuple[dict[str, str], float]
Family = tuple[str, str, str, Iterable[Sample]]
"""A metric family: (name, type, meaning, samples)."""


def render_metrics(figures: DaemonMetrics) -> str:
    """Return the text of the file. Equal metrics give equal text."""
    agents = sorted(figures.agents, key=lambda one: one.status.id)
    lines: list[str] = []
    for name, kind, meaning, samples in _families(figures, agents):
        lines += [f"# HELP {name} {meaning}", f"# TYPE {name} {kind}"]
        lines += [f"{name}{_labels(labels)} {_number(value)}" for labels, value in samples]
    return "\n".join(lines) + "\n"


def _families(figures: DaemonMetrics, agents: list[AgentMetrics]) -> Iterator[Family]:
    gauge, counter = "gauge", "counter"
    yield "lifeboat_daemon_up", gauge, "1 if the daemon is running, otherwise 0.", [({}, float(figures.running))]
    if figures.started_at is not None:
        started = _seconds(figures.started_at)
        yield "lifeboat_daemon_start_timestamp_seconds", gauge, "Time at which the daemon started.", [({}, started)]
    if figures.version:
        yield (
            "lifeboat_build_info",
            gauge,
            "The release of Lifeboat, as a label.",
            [({"version": figures.version}, 1.0)],
        )

    def each(name: str, kind: str, meaning: str, value: Any) -> Family:
        samples = [(_of(one), float(value(one))) for one in agents]
        return f"lifeboat_agent_{name}", kind, meaning, samples

    verified = "Time of the last successful verification; 0 if there was none."
    yield each("last_verified_timestamp_seconds", gauge, verified, lambda one: _seconds(one.status.last_verified_at))
    captured = "Time of the last capture; 0 if there was none."
    yield each("last_captured_timestamp_seconds", gauge, captured, lambda one: _seconds(one.status.last_captured_at))
    states = [({**_of(one), "state": word}, float(one.status.state == word)) for one in agents for word in STATES]
    yield "lifeboat_agent_state", gauge, "1 for the current state of the agent, 0 for the others.", states
    yield each(
        "pending_files",
        gauge,
        "Number of files that are not captured in their current version.",
        lambda one: one.status.pending,
    )
    sequence = "Number of the newest sequence; -1 if there is none."
    yield each("sequence", gauge, sequence, lambda one: -1 if one.status.sequence is None else one.status.sequence)
    yield each("vault_bytes", gauge, "Size of the vault on disk, in bytes.", lambda one: one.status.vault_bytes)
    yield each("captures_total", counter, "Number of captures since the daemon started.", lambda one: one.captures)
    yield each(
        "failures_total", counter, "Number of failed captures since the daemon started.", lambda one: one.failures
    )
    yield from _of_remotes([(_of(one), remote) for one in agents for remote in one.status.remotes])


def _of_remotes(found: list[tuple[dict[str, str], RemoteFacts]]) -> Iterator[Family]:
    """Yield the families about every agent at every remote, or nothing without remotes."""
    labelled = [({**labels, "remote": remote.name}, remote) for labels, remote in found]

    def each(name: str, meaning: str, value: Callable[[RemoteFacts], float]) -> Family:
        return f"lifeboat_remote_{name}", "gauge", meaning, [(labels, value(remote)) for labels, remote in labelled]

    if not labelled:
        return
    verified = "Time of the last successful verification of the remote; 0 if there was none."
    yield each("last_verified_timestamp_seconds", verified, lambda one: _seconds(one.verified_at))
    acknowledged = "Time of the last push that the remote accepted; 0 if there was none."
    yield each("last_acknowledged_timestamp_seconds", acknowledged, lambda one: _seconds(one.acknowledged_at))
    sequence = "Number of the newest sequence on the remote; -1 if there is none."
    yield each("sequence", sequence, lambda one: float(-1 if one.sequence is None else one.sequence))
    yield each(
        "pending_sequences", "Number of sequences that are not on the remote yet.", lambda one: float(one.pending)
    )
    states = [
        ({**labels, "state": word}, float(one.state == word)) for labels, one in labelled for word in REMOTE_STATES
    ]
    yield "lifeboat_remote_state", "gauge", "1 for the current state of the remote, 0 for the others.", states


def _of(one: AgentMetrics) -> dict[str, str]:
    return {"agent": one.status.id, "name": one.status.name}


def _seconds(moment: str | None) -> float:
    return 0.0 if moment is None else times.parse_time(moment).timestamp()


def _labels(labels: dict[str, str]) -> str:
    inside = ",".join(f'{name}="{value.translate(_ESCAPES)}"' for name, value in labels.items())
    return f"{{{inside}}}" if inside else ""


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(value)


def write_metrics(files: FileOperations, path: str, figures: DaemonMetrics) -> bool:
    """Write the metrics atomically to a file that everyone can read. Return False, without writing, if the file has
    this content already. `path` may begin with `~`. Raises SystemRefused, DiskFull."""
    target = Path(os.path.expanduser(path))
    text = render_metrics(figures).encode()
    with convert_system_errors():
        if _content(files, target) == text:
            return False
        write_atomic(files, target, text, mode=0o644)
    return True


def _content(files: FileOperations, path: Path) -> bytes | None:
    try:
        return read_all(files, path)
    except FileNotFoundError:
        return None
