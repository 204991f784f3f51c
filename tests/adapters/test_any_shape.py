"""Documents, memories and files of runtimes in any shape are skipped, or refused with an error of the project."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lifeboat_adapters import adapter_registry
from lifeboat_adapters.contract import Adapter, DerivationContext, HomeFileMerge, Installation
from lifeboat_adapters.openclaw import openclaw_databases
from lifeboat_adapters.openclaw.restore.credential_file_merging import merge_openclaw_profiles
from lifeboat_adapters.zeroclaw import ADAPTER as ZEROCLAW
from lifeboat_alf.archive import archive_layout
from lifeboat_alf.errors import LifeboatError
from lifeboat_alf.testing import sample_states
from lifeboat_alf.testing.sample_states import MemoryState
from lifeboat_core.exchange import conversion_options
from lifeboat_formats.interchange import format_registry as formats
from lifeboat_formats.interchange.contract import ConversionContext
from support.adapters.openclaw_derived import FileMap
from support.adapters.openclaw_workspaces import OLD, make_state_dir
from support.alf.any_shape import replaced, spoiled

IDENTITY: dict[str, Any] = {
    **sample_states.make_identity(),
    "structured": {
        "names": {"primary": "Ada", "nickname": "A"},
        "role": "helper",
        "goals": ["sail"],
        "psychology": {"neural_matrix": {"logic": 0.5}, "personality_traits": {"scores": {"openness": 0.4}}},
        "linguistics": {"verbosity": 0.2, "idiolect": {"catchphrases": ["aye"]}},
        "capabilities": [{"name": "charts", "portability": "host_dependent", "host_requirements": "needs `git`"}],
        "sub_agents": [{"name": "Rover", "model_hints": {"last_model": "m"}, "capabilities": [{"name": "search"}]}],
        "aieos_extensions": {"history": {"origin_story": "x"}, "motivations": {"core_drive": "z"}},
    },
    "prose": {"soul": "Calm.", "custom_blocks": {"TOOLS.md": "none"}},
    "raw_source": {"openclaw": {"read": [["structured", "role"]]}, "zeroclaw": {"aieos": {"identity": {}}}},
}
PRINCIPALS: dict[str, Any] = {
    "principals": [
        {
            "id": "p-1",
            "principal_type": "human",
            "profile": {
                "structured": {"name": "Bo", "work_context": {"projects": ["a"]}, "relationships": [{"name": "n"}]},
                "prose": {"user_profile": "Bo likes tea."},
            },
        }
    ]
}
RECORD = sample_states.make_record(
    "Red fades.",
    tags=["category:DATA"],
    category="aicf:insight",
    confidence=0.8,
    entities=[{"name": "Bo", "type": "person", "x_aimem": {"id": "urn:x"}}],
    embeddings=[{"model": "openai/m", "dimensions": 2, "vector": [0.1, 0.2], "computed_at": sample_states.TIME}],
    related_records=[{"id": sample_states.AGENT_ID, "relation": "caused", "x_aimem": {"weight": 1.0}}],
    raw_source_format={"zeroclaw": {"key": "k", "row": {"a": 1}}},
    x_aicf={"role": "user", "span": "@INSIGHTS x\n", "file": "a.aicf", "columns": [["a", "b"]], "about": [[0, 0, "t"]]},
    x_aimem={"id": "urn:aimem:p:1", "memory_type": "fact", "zone": "core", "unknown": {"a": 1}},
)


def _derive(adapter: Adapter, name: str, previous: Any) -> None:
    raw = f"raw/{adapter.runtime}/"
    texts = {"SOUL.md": "# S\n\nx\n", "USER.md": "- **Name:** Bo\n", "IDENTITY.md": "- **Name:** Ada\n"}
    files = FileMap({raw + path: text.encode() for path, text in texts.items()})
    about = DerivationContext(
        Installation(adapter.runtime, Path("/invented"), "main", "Ada"),
        sample_states.AGENT_ID,
        lambda *parts: "-".join(parts),
    )
    for derivation in adapter.derivations():
        if derivation.document == name:
            derivation.derive(files, previous, about)


@settings(max_examples=20)
@given(spoiled(IDENTITY), spoiled(PRINCIPALS))
@example({**IDENTITY, "structured": True}, {"principals": "x"})
@example({**IDENTITY, "prose": 5}, replaced(PRINCIPALS, ("principals", 0, "profile"), ["x"]))
@example(replaced(IDENTITY, ("structured", "sub_agents"), [5]), replaced(PRINCIPALS, ("principals", 0), ["x"]))
def test_identities_and_principals_of_any_shape_stop_no_adapter(identity: Any, principals: Any) -> None:
    state = MemoryState()
    state.put_document(archive_layout.IDENTITY, identity).put_document(archive_layout.PRINCIPALS, principals)
    for adapter in adapter_registry.load_adapters().values():
        assert all(isinstance(made.data, bytes) for made in adapter.render(state))
        list(adapter.cannot_hold(Installation(adapter.runtime, Path("/invented"), "main", "Ada"), state))
        if adapter.placement is not None:
            adapter.placement.missing_on_host(identity)
        _derive(adapter, "identity", identity)
        _derive(adapter, "principals", principals)


@settings(max_examples=20)
@given(spoiled(RECORD), st.sampled_from(["aicf", "aimem"]))
@example({**RECORD, "related_records": "x"}, "aicf")
@example({**RECORD, "embeddings": [{"model": "m", "vector": ["x"]}]}, "aicf")
@example({**RECORD, "related_records": True}, "aimem")
@example({**RECORD, "content": None}, "aicf")
def test_memories_of_any_shape_are_written_in_other_forms(memory: dict[str, Any], name: str) -> None:
    whole = {**memory, "id": RECORD["id"], "temporal": {**RECORD["temporal"]}}
    state = MemoryState()
    state.add(whole)
    chosen = formats.load_format(name)
    options = conversion_options.choose_writing_options(chosen, {}, "target")
    try:
        chosen.losses(state, options)
        chosen.write(state, io.BytesIO(), options, ConversionContext(sample_states.TIME))
    except LifeboatError:
        pass
    ZEROCLAW.databases.row_of(whole, "root")


@pytest.mark.parametrize(
    "said",
    [
        {"fields": {"temporal": [{"x": "y"}]}},
        {"fields": {"temporal": {}}},
        {"fields": {"temporal": 5, "source": ["x"]}},
        {"absent": ["temporal", "source"]},
    ],
)
def test_an_extension_of_an_aicf_file_takes_no_time_away(said: dict[str, Any], tmp_path: Path) -> None:
    file = tmp_path / "a.aicf"
    section = f"@ALF_RECORD:019a0000-0000-7000-8000-0000000000fe\nof=INSIGHT:i1\njson={json.dumps(said)}\n"
    file.write_text(f"@INSIGHT:i1\ntext=Red fades\ntimestamp=2026-10-02T08:00:00Z\n{section}")
    chosen = formats.load_format("aicf")
    with chosen.read(
        str(file), conversion_options.choose_reading_options(chosen, {}), ConversionContext(sample_states.TIME)
    ) as reading:
        (found,) = [each for each in reading.records if each["content"] == "Red fades"]
    assert found["temporal"]["created_at"] == "2026-10-02T08:00:00.000Z" and found["source"]["runtime"] == "aicf"


def test_jobs_that_are_no_list_are_unreadable_and_not_empty(tmp_path: Path) -> None:
    state = make_state_dir(tmp_path / ".openclaw", layout=OLD)
    (state.folder / "cron/jobs.json").write_text('{"version": 1, "jobs": true}')
    adapter = adapter_registry.load_adapter("openclaw")
    installation = adapter.locate(state.workspace, {}, tmp_path)
    with pytest.raises(openclaw_databases.RuntimeDatabaseError, match="not a list"):
        list(adapter.databases.rows(installation, transcripts=False, cron=True))


def test_a_store_whose_profiles_are_no_object_is_not_changed() -> None:
    with pytest.raises(ValueError, match="not a JSON object"):
        merge_openclaw_profiles(b'{"version": 1, "profiles": "x"}', [], sample_states.TIME)


def test_an_active_profile_that_is_no_name_is_passed_over() -> None:
    profile = {"provider": "anthropic", "profile_name": "default", "kind": "token", "token": "enc2:00"}
    store = {"schema_version": 1, "profiles": {"anthropic:default": profile}, "active_profiles": {"anthropic": [5]}}
    data = json.dumps(store).encode()
    installation = Installation("zeroclaw", Path("/invented"), "ada", "Ada")
    path = "raw/zeroclaw-home/auth-profiles.json"
    there, home = b'{"schema_version": 1}', Path("/invented")
    merge = HomeFileMerge(path, there, data, {}, MemoryState(), home, sample_states.TIME)
    merged = ZEROCLAW.placement.merge_home(installation, merge)
    assert merged is not None and json.loads(merged.data)["active_profiles"] == {}
