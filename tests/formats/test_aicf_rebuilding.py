"""Files rebuilt from memories, whose stored positions may come from any writer."""

from __future__ import annotations

from typing import Any

import pytest

from lifeboat_alf.testing.sample_states import MemoryState, make_record
from lifeboat_formats.aicf.output import rebuilding
from lifeboat_formats.aicf.output.workspace_rendering import render_workspace
from lifeboat_formats.aicf.records import file_memories

VECTORS = b"""@EMBEDDING:t
model=m
vector=0.1,0.2

@CONVERSATION:t
timestamp_start=2026-01-01T00:00:00Z
topic=tides

@EMBEDDING:t
model=n
vector=0.3

@EMBEDDING:nobody
model=n

@INSIGHTS a row of it|GENERAL|LOW|LOW
@EMBEDDING:t
model=k
vector=0.5
"""


def test_what_is_about_one_memory_goes_with_it_and_stands_in_its_place_again() -> None:
    one, other = (each for _, each in file_memories.read_memories(VECTORS, "a.aicf").memories())
    assert "vector=" not in str(other)
    whole = rebuilding.rebuild_file("a.aicf", [one, other])
    assert whole is not None and whole.text.encode() == VECTORS
    rest = rebuilding.rebuild_file("a.aicf", [other])
    assert rest is not None and rest.text == "@EMBEDDING:nobody\nmodel=n\n\n@INSIGHTS a row of it|GENERAL|LOW|LOW\n"


@pytest.mark.parametrize(
    "own",
    [
        {"file": "../../x.aicf"},
        {"file": "/etc/x.aicf"},
        {"file": "a\0.aicf"},
        {"file": "a\x1b[31m.aicf"},
        {"file": "a.aicf", "of": "x", "at": "y"},
        {"file": "a.aicf", "of": [1], "at": -1},
        {"file": "a.aicf", "about": 5},
        {"file": "a.aicf", "about": [[0, -5, "# x\n"], [True, 1, 2], "q", [10**30, 10**30, "# zz\n"]]},
        {"file": "a.aicf", "lead": 3, "tail": {}},
        {"file": 5},
    ],
)
def test_a_memory_may_say_anything_of_where_it_stood(own: dict[str, Any]) -> None:
    said = {"span": "@INSIGHTS Sails dry by noon.\n", **own}
    state = MemoryState().add_all([{**make_record("Sails dry by noon."), "x_aicf": said}])
    (made,) = render_workspace(state)
    assert made.path in ("raw/aicf/a.aicf", "raw/aicf/memory.aicf")
    assert [each["content"] for _, each in file_memories.read_memories(made.data, "a").memories()] == [
        "Sails dry by noon."
    ]
