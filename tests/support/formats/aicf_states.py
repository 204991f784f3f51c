"""States read from AICF files for tests that change them, and the files written for a state."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

from lifeboat_alf.common import json_codec
from lifeboat_alf.states import entry_metas
from lifeboat_alf.testing.sample_states import AGENT_ID, MemoryState
from lifeboat_formats.aicf import FORMAT
from lifeboat_formats.interchange.contract import ConversionContext, FormatReading, FormatWriteResult

NOW = "2026-11-20T12:00:00.000Z"
OPTIONS: dict[str, str | bool] = {
    "dialect": "same",
    "pseudonymise": False,
    "gzip": False,
    "redact": False,
    "detect": "",
    "allow-secrets": False,
}


def read(path: Path) -> FormatReading:
    with FORMAT.read(str(path), {}, ConversionContext(NOW)) as reading:
        return reading


def state_of(reading: FormatReading, *, with_raw: bool = True) -> MemoryState:
    """Return the state that a conversion stores."""
    state = MemoryState()
    records = list(reading.records)
    for record in records:
        state.add({**record, "agent_id": AGENT_ID})
    for path, body in reading.entries.items():
        if path.startswith("raw/"):
            if with_raw:
                state.put(path, body, **{entry_metas.RECORDS: [record["id"] for record in records]} if records else {})
        else:
            state.put(path, body)
    return state


def state_in(folder: Path, name: str, data: bytes, *, with_raw: bool = True) -> MemoryState:
    """Return the state of a file with this name."""
    path = folder / name
    path.write_bytes(data)
    return state_of(read(path), with_raw=with_raw)


def written(state: MemoryState, **options: Any) -> tuple[bytes, FormatWriteResult]:
    stream = io.BytesIO()
    made = FORMAT.write(state, stream, {**OPTIONS, **options}, ConversionContext(NOW))
    return stream.getvalue(), made


def records_of(state: MemoryState) -> list[dict[str, Any]]:
    return [json_codec.decode_json(record.line) for record in state.records()]


def contents(records: Any) -> list[str]:
    return [str(record["content"]) for record in records]


def without_agent(record: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in record.items() if name != "agent_id"}
