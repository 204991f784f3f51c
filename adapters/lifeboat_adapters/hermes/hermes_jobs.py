"""Scheduled jobs of Hermes: read without what a run changes, and merged into the list of a home."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lifeboat_adapters.contract import Installation, RuntimeRow
from lifeboat_adapters.errors import RuntimeDatabaseError
from lifeboat_adapters.item_fates import ItemFate, ItemOutcome
from lifeboat_adapters.memory_stores import DatabaseWrite, WriteOrder
from lifeboat_adapters.small_files import read_small
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.common.refusal_texts import refusal_reason

FILE = "cron/jobs.json"
ROWS = "raw/hermes-home/db/cron/jobs.jsonl"
_OF_RUNS = ("next_run_at", "last_run_at", "last_status", "last_error", "last_delivery_error", "state", "paused_at")
_MODE = 0o600


def read_jobs(installation: Installation) -> Iterator[RuntimeRow]:
    """Yield every scheduled job. Raises RuntimeDatabaseError."""
    for job in _jobs_in(_read_list(installation.workspace)):
        yield RuntimeRow(ROWS, str(job["id"]), _without_runs(job))


def find_jobs_problem(workspace: Path) -> str:
    """Return why the list has no information about jobs, "" when it has."""
    path = workspace / FILE
    return "" if path.is_file() else f"{path} does not exist"


def plan_job_write(installation: Installation, order: WriteOrder) -> Iterator[DatabaseWrite]:
    """Plan the list of jobs with those of a state added. A job that is there stays as it is. Raises
    RuntimeDatabaseError."""
    data = order.tables.get(ROWS)
    if data is None or not order.choice.cron:
        return
    path = installation.workspace / FILE
    found = _read_list(installation.workspace)
    known = {str(job["id"]) for job in _jobs_in(found)}
    wanted = [json.loads(line) for line in data.splitlines() if line.strip()]
    fates = [
        ItemFate("row", f"{ROWS}#{number}", ItemOutcome.DEDUPLICATED if _id(job) in known else ItemOutcome.ACCEPTED)
        for number, job in enumerate(wanted, start=1)
    ]
    added = [job for job in wanted if _id(job) not in known]
    # Also jobs without an id, which only this home knows.
    there = found["jobs"] if isinstance(found.get("jobs"), list) else []
    made = json.dumps({**found, "jobs": [*there, *added]}, indent=2, ensure_ascii=False)

    def write(target: Path) -> None:
        target.touch(_MODE)
        target.write_text(made, "utf-8")

    yield DatabaseWrite(path, bool(added), write, tuple(fates))


def _id(job: Any) -> str:
    return str(job.get("id")) if isinstance(job, dict) else ""


def _read_list(workspace: Path) -> JsonObject:
    path = workspace / FILE
    if not path.exists():
        return {"jobs": []}
    try:
        values = json.loads(read_small(path, workspace))
    except OSError as error:
        raise RuntimeDatabaseError(f"{path}: {refusal_reason(error)}") from error
    except (ValueError, RecursionError) as error:
        raise RuntimeDatabaseError(f"{path} is not valid JSON") from error
    return values if isinstance(values, dict) else {"jobs": values}


def _jobs_in(values: JsonObject) -> list[JsonObject]:
    listed = values.get("jobs")
    return [job for job in listed if isinstance(job, dict) and job.get("id")] if isinstance(listed, list) else []


def _without_runs(job: JsonObject) -> JsonObject:
    """Return a job without what each run changes, so that a run is no change."""
    kept = {name: value for name, value in job.items() if name not in _OF_RUNS}
    repeat = kept.get("repeat")
    if isinstance(repeat, dict):
        kept["repeat"] = {name: value for name, value in repeat.items() if name != "completed"}
    return kept
