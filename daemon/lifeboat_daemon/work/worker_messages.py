"""The messages between daemon and worker: one JSON document per line, over the worker's standard streams."""

from __future__ import annotations

import msgspec

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_daemon.control import json_lines

PROTOCOL = 1
"""Increases when daemon and worker of different releases would misunderstand each other. New fields do not change
it."""
LONGEST_LINE = 16 * 1024 * 1024
"""Bytes. A worker that sends a longer line has failed."""


class WorkerJob(msgspec.Struct, frozen=True, tag="job"):
    """Daemon to worker: a job. `operation` names a module of `operations/`; `agent` is an id, or None for work without
    an agent."""

    number: int
    operation: str
    agent: str | None = None
    parameters: JsonObject = {}


class CancelJob(msgspec.Struct, frozen=True, tag="cancel"):
    """Daemon to worker: end this job at the next safe point."""

    number: int


class WorkerReady(msgspec.Struct, frozen=True, tag="ready"):
    """Worker to daemon, first. A release other than the daemon's means that the program was upgraded."""

    pid: int
    release: str
    protocol: int = PROTOCOL


class JobProgress(msgspec.Struct, frozen=True, tag="progress"):
    """Worker to daemon, at most a few times a second. `total` is None while it is unknown."""

    number: int
    text: str
    done: int = 0
    total: int | None = None


class JobResult(msgspec.Struct, frozen=True, tag="result"):
    """Worker to daemon: the result of a job. `rss` is the worker's memory in bytes, by which the pool decides to end
    it."""

    number: int
    document: JsonObject
    rss: int = 0


class JobFailure(msgspec.Struct, frozen=True, tag="failure"):
    """Worker to daemon: a job failed. `error` has the fields of every error: code, title, message, fix, retryable."""

    number: int
    error: JsonObject
    rss: int = 0


ToWorker = WorkerJob | CancelJob
ToDaemon = WorkerReady | JobProgress | JobResult | JobFailure

_to_worker: msgspec.json.Decoder[ToWorker] = msgspec.json.Decoder(ToWorker)
_to_daemon: msgspec.json.Decoder[ToDaemon] = msgspec.json.Decoder(ToDaemon)


def encode_message(message: ToWorker | ToDaemon) -> bytes:
    """Return a message as one line, including its newline. Raises TypeError for a value that JSON cannot represent."""
    return json_lines.encode_line(message)


def decode_for_worker(line: bytes) -> ToWorker:
    """Decode a message from the daemon. Raises msgspec.MsgspecError."""
    message: ToWorker = json_lines.decode_line(_to_worker, line)
    return message


def decode_for_daemon(line: bytes) -> ToDaemon:
    """Decode a message from a worker. Raises msgspec.MsgspecError."""
    message: ToDaemon = json_lines.decode_line(_to_daemon, line)
    return message
