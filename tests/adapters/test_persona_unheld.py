from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lifeboat_adapters.contract import Installation
from lifeboat_adapters.openclaw import ADAPTER as OPENCLAW
from lifeboat_adapters.zeroclaw import ADAPTER as ZEROCLAW
from lifeboat_alf.archive import archive_layout
from lifeboat_alf.testing import sample_states
from lifeboat_alf.testing.sample_states import MemoryState

AGENT = {"id": "p-agent", "principal_type": "agent", "profile": {}}


def told(adapter: Any, state: MemoryState) -> dict[str, str]:
    installation = Installation(adapter.runtime, Path("/"), "default", "Ada")
    fates = list(adapter.cannot_hold(installation, state))
    assert {fate.outcome.value for fate in fates} <= {"omitted"}
    return {fate.name: fate.reason for fate in fates}


@pytest.fixture(params=[OPENCLAW, ZEROCLAW], ids=["openclaw", "zeroclaw"])
def adapter(request: Any) -> Any:
    return request.param


def test_a_plain_agent_loses_nothing(adapter: Any) -> None:
    assert told(adapter, MemoryState().add_all([sample_states.make_record("Likes tea.")])) == {}


def test_fields_of_memories_are_told_once_each_with_their_number(adapter: Any) -> None:
    tagged = [
        sample_states.make_record(f"Tea {number}", tags=["tea"], related_records=[{"id": "x"}]) for number in range(3)
    ]
    found = told(adapter, MemoryState().add_all(tagged))
    assert list(found) == ["memories: tags", "memories: links to other memories"]
    assert found["memories: tags"].startswith("the runtime cannot store this field (3 memories)")


def test_fields_of_memories_that_are_gone_are_not_told(adapter: Any) -> None:
    assert (
        told(adapter, MemoryState().add_all([sample_states.make_record("Tea", tags=["tea"], status="deleted")])) == {}
    )


def test_how_sure_a_memory_is_has_a_place_in_a_row_only() -> None:
    state = MemoryState().add_all([sample_states.make_record("Tea", confidence=0.25)])
    assert (list(told(OPENCLAW, state)), list(told(ZEROCLAW, state))) == (
        ["memories: the confidence of each memory"],
        [],
    )


def test_all_but_the_first_human_are_told(adapter: Any) -> None:
    document = sample_states.make_principals()
    second = {**document["principals"][0], "id": "p-second"}
    state = MemoryState().put_document(
        archive_layout.PRINCIPALS, {"principals": [*document["principals"], AGENT, second]}
    )
    assert list(told(adapter, state)) == ["p-agent", "p-second"]


def test_numbers_of_an_agent_that_lives_by_its_prose_are_told(adapter: Any) -> None:
    identity = sample_states.make_identity(psychology={"neural_matrix": {"logic": 0.8}})
    assert list(told(adapter, MemoryState().put_document(archive_layout.IDENTITY, identity))) == [
        "identity: psychology"
    ]


def test_numbers_stay_where_the_runtime_has_them_in_a_document() -> None:
    state = MemoryState(adapter_hints={"zeroclaw": {"identity_format": "aieos"}})
    state.put_document(
        archive_layout.IDENTITY, sample_states.make_identity(psychology={"neural_matrix": {"logic": 0.8}})
    )
    assert told(ZEROCLAW, state) == {}


def test_earlier_versions_and_records_of_helpers_are_told(adapter: Any) -> None:
    helper = {"name": "Scout", "last_invoked_at": sample_states.TIME}
    state = MemoryState().put_document(archive_layout.IDENTITY, sample_states.make_identity(sub_agents=[helper]))
    state.put_document(archive_layout.identity_history(1), sample_states.make_identity())
    assert list(told(adapter, state)) == ["identity: data about sub-agents", "identity: earlier versions"]


@pytest.mark.parametrize("identity", [{}, {"structured": [], "prose": "x"}, {"structured": {"sub_agents": [1, {}]}}])
def test_documents_of_a_wrong_shape_are_passed_over(adapter: Any, identity: Any) -> None:
    state = MemoryState().put_document(archive_layout.IDENTITY, identity)
    state.put_document(archive_layout.PRINCIPALS, {"principals": [1, "x", {"id": 5}]})
    told(adapter, state)
