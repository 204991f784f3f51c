"""List commands of OpenClaw that make a restore take effect, or that restore rows of its databases.

Nothing is ever written into those databases directly: the program that owns them checks their schema, which changes
with almost every release. Only the re-index runs without being asked for.
"""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from lifeboat_adapters.contract import Installation, NextStep
from lifeboat_adapters.errors import AdapterError
from lifeboat_adapters.openclaw import captured_rows, openclaw_config, openclaw_databases, openclaw_paths
from lifeboat_adapters.openclaw.captured_rows import DECLARED
from lifeboat_adapters.openclaw.layers import heartbeat
from lifeboat_adapters.persona.derivation_files import StateFiles, iter_table_rows
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.states.agent_state import State

_WAITING = ("pending", "armed")
_MINUTE = 60_000


def list_openclaw_next_steps(installation: Installation, state: State) -> list[NextStep]:
    """Return the steps in the order in which they should run. Steps for what the installation already has
    are left out."""
    files = StateFiles(state)
    present = _present(installation)
    steps = [] if installation.state_dir else [_register(installation)]
    steps.append(_reindex(installation))
    steps.extend(_cron_jobs(installation, files, present))
    steps.extend(_heartbeat(installation, files, present))
    steps.extend(_intents(installation, files, present))
    return steps


def _present(installation: Installation) -> set[tuple[str, str]]:
    """Return the current rows, by file and every name. A database that cannot be read counts as empty: the user can
    skip a command that is listed needlessly, but would miss one that is not listed."""
    try:
        rows = list(openclaw_databases.read_openclaw_rows(installation))
    except AdapterError:
        return set()
    return {(row.path, name) for row in rows for name in captured_rows.openclaw_row_names(row.path, row.values)}


def _is_there(path: str, row: JsonObject, present: set[tuple[str, str]]) -> bool:
    return any((path, name) in present for name in captured_rows.openclaw_row_names(path, row))


def _step(installation: Installation, title: str, *words: str, automatic: bool = False) -> NextStep:
    program = str(installation.program or openclaw_paths.RUNTIME)
    environment = {"OPENCLAW_STATE_DIR": str(installation.state_dir)} if installation.state_dir else {}
    if installation.config and installation.config.parent != installation.state_dir:
        environment["OPENCLAW_CONFIG_PATH"] = str(installation.config)
    return NextStep(title, (program, *words), automatic=automatic, environment=environment)


def _register(installation: Installation) -> NextStep:
    """Return the step that registers the agent. It sets the configuration, because `agents add` would overwrite
    IDENTITY.md."""
    key = f"agents.entries.{installation.native_id}"
    value = json.dumps({"workspace": str(installation.workspace)})
    words = ("config", "set", key, value, "--strict-json", "--expect-current-absent")
    return _step(installation, "Add the workspace to OpenClaw's configuration", *words)


def _reindex(installation: Installation) -> NextStep:
    ready = installation.program is not None and installation.state_dir is not None
    words = ("memory", "index", "--force", "--agent", installation.native_id)
    return _step(installation, "Rebuild OpenClaw's search index", *words, automatic=ready)


def _cron_jobs(installation: Installation, files: StateFiles, present: set[tuple[str, str]]) -> Iterator[NextStep]:
    """Yield steps for the user's own jobs. The gateway makes the jobs of OpenClaw itself, and only the gateway adds
    jobs."""
    waits: str | None = None
    for row in iter_table_rows(files.read(openclaw_paths.CRON_JOBS)):
        if captured_rows.is_of_runtime(row) or _is_there(openclaw_paths.CRON_JOBS, row, present):
            continue
        words = cron_words(row, installation.native_id)
        if words:
            waits = find_gateway_problem(installation) if waits is None else waits
            step = _step(
                installation, f"Schedule the job {row.get('name') or row.get('job_id')}", "cron", "add", *words
            )
            yield replace(step, waits=waits)


def cron_words(row: JsonObject, native_id: str) -> list[str]:
    """Return the options of `cron add` that make a job again, [] for a job whose schedule or payload they cannot
    express. With the declaration key, repeated runs make the job only once."""
    job = _object(row.get("job_json"))
    schedule, work = _schedule(job), _work(job)
    if not schedule or not work:
        return []
    words = ["--agent", native_id, "--name", str(row.get("name") or row.get("job_id"))]
    words += ["--description", str(row["description"])] if row.get("description") else []
    words += [
        *schedule,
        "--session",
        openclaw_config.get_nested_text(job, "sessionTarget") or "isolated",
        *work,
        *_delivery(job),
    ]
    words += [] if row.get("enabled", 1) else ["--disabled"]
    return [*words, "--declaration-key", str(row.get("declaration_key") or f"{DECLARED}{row.get('job_id')}")]


def _object(text: Any) -> JsonObject:
    try:
        value = json.loads(text) if isinstance(text, str) else {}
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _schedule(job: JsonObject) -> list[str]:
    schedule = openclaw_config.get_nested(job, "schedule") or {}
    expression, at = openclaw_config.get_nested_text(schedule, "expr"), openclaw_config.get_nested_text(schedule, "at")
    every, at_ms = openclaw_config.get_nested(schedule, "everyMs"), openclaw_config.get_nested(schedule, "atMs")
    zone = openclaw_config.get_nested_text(schedule, "tz")
    if expression:
        return ["--cron", expression, *(["--tz", zone] if zone else [])]
    if isinstance(every, int) and every > 0:
        return ["--every", f"{every // _MINUTE}m" if every % _MINUTE == 0 else f"{max(1, every // 1000)}s"]
    if isinstance(at_ms, int):
        at = datetime.fromtimestamp(at_ms / 1000, UTC).isoformat().replace("+00:00", "Z")
    return ["--at", at] if at else []


def _work(job: JsonObject) -> list[str]:
    message = openclaw_config.get_nested_text(job, "payload", "message")
    event = openclaw_config.get_nested_text(job, "payload", "text")
    model = openclaw_config.get_nested_text(job, "payload", "model")
    if message:
        return ["--message", message, *(["--model", model] if model else [])]
    return ["--system-event", event] if event else []


def _delivery(job: JsonObject) -> list[str]:
    delivery = openclaw_config.get_nested(job, "delivery") or {}
    if openclaw_config.get_nested_text(delivery, "mode") == "none":
        return ["--no-deliver"]
    if openclaw_config.get_nested_text(delivery, "mode") != "announce":
        return []
    channel, to = openclaw_config.get_nested_text(delivery, "channel"), openclaw_config.get_nested_text(delivery, "to")
    return ["--announce", *(["--channel", channel] if channel else []), *(["--to", to] if to else [])]


def _heartbeat(installation: Installation, files: StateFiles, present: set[tuple[str, str]]) -> Iterator[NextStep]:
    """Yield a step for the notes of a heartbeat job. No command sets them, but the agent itself can."""
    jobs = [row for row in iter_table_rows(files.read(openclaw_paths.CRON_JOBS)) if heartbeat.is_heartbeat(row)]
    checklist = heartbeat.heartbeat_checklist(files)
    scratch = {(path, name) for path, name in present if path == openclaw_paths.CRON_SCRATCH}
    if checklist and not any(_is_there(openclaw_paths.CRON_SCRATCH, row, scratch) for row in jobs):
        message = f"Replace the checklist of your heartbeat with exactly this text:\n\n{checklist}"
        yield _ask(installation, "Restore the heartbeat checklist", message)


def _intents(installation: Installation, files: StateFiles, present: set[tuple[str, str]]) -> Iterator[NextStep]:
    """Yield a step for standing intents. They have no command of their own: the agent makes them when it is asked."""
    for row in iter_table_rows(files.read(openclaw_paths.STANDING_INTENTS)):
        if row.get("status") not in _WAITING or _is_there(openclaw_paths.STANDING_INTENTS, row, present):
            continue
        description = str(row.get("description") or "")
        message = f"Create a standing intent: {description}\nTrigger keywords: {_keywords(row)}"
        yield _ask(installation, f"Restore the standing intent: {description[:60]}", message)


def _keywords(row: JsonObject) -> str:
    text = str(row.get("trigger_keywords") or "")
    try:
        words = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return ", ".join(map(str, words)) if isinstance(words, list) else text


def _ask(installation: Installation, title: str, message: str) -> NextStep:
    return _step(installation, title, "agent", "--agent", installation.native_id, "--message", message)


PORT = 18789
"""The port of the gateway unless the configuration sets another one."""

NOT_RUNNING = "the OpenClaw gateway is not running; start the gateway first: openclaw gateway run"
_SECONDS = 1.0


def find_gateway_problem(installation: Installation) -> str:
    """Return why commands that need the gateway would fail, "" when it answers or runs on another machine."""
    try:
        values = openclaw_config.read_config_or_backup(installation.config) if installation.config is not None else {}
    except AdapterError:
        return ""
    if openclaw_config.get_nested_text(values, "gateway", "mode") == "remote":
        return ""
    port = openclaw_config.get_nested(values, "gateway", "port")
    try:
        with socket.create_connection(("127.0.0.1", port if isinstance(port, int) else PORT), _SECONDS):
            return ""
    except (OSError, OverflowError):
        return NOT_RUNNING
