"""What daemon and worker say to each other: one JSON document a line, over the worker's standard streams."""

from __future__ import annotations

from typing import Any

import msgspec

JsonObject = dict[str, Any]


class Job(msgspec.Struct, frozen=True, tag="job"):
    """Daemon to worker. `operation` names a file of `operations/`; `agent` is an id, None for work on none."""

    number: int
    operation: str
    agent: str | None = None
    parameters: JsonObject = {}


class Cancel(msgspec.Struct, frozen=True, tag="cancel"):
    """Daemon to worker: end this job at the next safe point."""

    number: int


class Ready(msgspec.Struct, frozen=True, tag="ready"):
    """Worker to daemon, first. A release other than the daemon's means that the program was upgraded."""

    pid: int
    release: str


class Progress(msgspec.Struct, frozen=True, tag="progress"):
    """Worker to daemon, at most a few times a second. `total` is None while nobody knows it."""

    number: int
    text: str
    done: int = 0
    total: int | None = None


class Result(msgspec.Struct, frozen=True, tag="result"):
    """Worker to daemon: a job's outcome. `rss` is the worker's memory in bytes, by which the pool lets it go."""

    number: int
    document: JsonObject
    rss: int = 0


class Failure(msgspec.Struct, frozen=True, tag="failure"):
    """Worker to daemon: a job failed. `error` has the fields of every error: code, title, message, fix, retryable."""

    number: int
    error: JsonObject
    rss: int = 0


ToWorker = Job | Cancel
ToDaemon = Ready | Progress | Result | Failure
