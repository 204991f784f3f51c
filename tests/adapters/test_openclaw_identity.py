from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lifeboat_adapters.contract import Installation
from lifeboat_adapters.openclaw import ADAPTER
from lifeboat_adapters.persona import prose_synthesis
from support.adapters import openclaw_derived as derived
from support.adapters import openclaw_workspaces as workspaces
from support.adapters.openclaw_derived import FileMap
from support.alf.published_schemas import validate_as_published

RAW = "raw/openclaw/"
HOME = "raw/openclaw-home/"


def of_layout(folder: Path, layout: str) -> tuple[FileMap, Installation]:
    made = workspaces.make_state_dir(folder / ".openclaw", layout=layout)
    installed = ADAPTER.locate(made.workspace, {}, folder)
    return derived.files_of(installed), installed


def identity(files: dict[str, str], previous: Any = None) -> Any:
    data = {RAW + path: text.encode() for path, text in files.items()}
    return derived.derive("identity", FileMap(data), previous)


def by_name(items: list[Any]) -> dict[str, Any]:
    return {item["name"]: item for item in items}


def test_the_prose_is_the_files_as_they_stand(tmp_path: Path) -> None:
    files, installed = of_layout(tmp_path, workspaces.NEW)
    prose = derived.derive("identity", files, None, installed)["prose"]
    assert prose["soul"] == workspaces.SOUL
    assert prose["operating_instructions"] == workspaces.AGENTS
    assert prose["identity_profile"] == workspaces.IDENTITY
    assert prose["custom_blocks"]["boot_checklist"] == workspaces.BOOT


def test_checklist_and_tools_come_from_files_in_the_old_layout(tmp_path: Path) -> None:
    files, installed = of_layout(tmp_path, workspaces.OLD)
    blocks = derived.derive("identity", files, None, installed)["prose"]["custom_blocks"]
    assert (blocks["heartbeat_checklist"], blocks["tools_guidance"]) == (workspaces.HEARTBEAT, workspaces.TOOLS)


def test_checklist_and_tools_come_from_the_heartbeat_job_and_agents_md_in_the_new_layout(tmp_path: Path) -> None:
    files, installed = of_layout(tmp_path, workspaces.NEW)
    assert RAW + "HEARTBEAT.md" not in files.files
    blocks = derived.derive("identity", files, None, installed)["prose"]["custom_blocks"]
    assert blocks["heartbeat_checklist"] == workspaces.HEARTBEAT
    assert blocks["tools_guidance"] == workspaces.AGENTS[workspaces.AGENTS.index("## Tools") :]


def test_names_role_goals_and_voice_are_read_from_identity_md() -> None:
    structured = identity({"IDENTITY.md": workspaces.IDENTITY})["structured"]
    assert structured["names"] == {"primary": "Juniper", "nickname": "June"}
    assert structured["role"] == "Operations assistant of a surveying company"
    assert structured["goals"][0] == "Keep the field schedule truthful"
    assert structured["linguistics"] == {
        "formality_level": 0.3,
        "verbosity": 0.2,
        "humor_level": 0.4,
        "preferred_language": "en",
        "idiolect": {"catchphrases": ["noted", "tide waits for nobody"], "avoided_words": ["honestly", "leverage"]},
    }


def test_placeholders_of_a_fresh_workspace_say_nothing() -> None:
    text = "# IDENTITY.md\n\n- **Name:** _(pick something you like)_\n- **Role:**\n- **Emoji:** _(your signature)_\n"
    structured = identity({"IDENTITY.md": text})["structured"]
    assert structured == {"names": {"primary": "Nameless"}}


def test_the_configured_name_counts_before_that_of_the_file(tmp_path: Path) -> None:
    files, installed = of_layout(tmp_path, workspaces.NEW)
    files.files[RAW + "IDENTITY.md"] = b"- **Name:** Someone else\n"
    assert derived.derive("identity", files, None, installed)["structured"]["names"]["primary"] == "Juniper"


def test_capabilities_say_what_of_the_host_they_need(tmp_path: Path) -> None:
    files, installed = of_layout(tmp_path, workspaces.NEW)
    found = by_name(derived.derive("identity", files, None, installed)["structured"]["capabilities"])
    assert found["Writing"]["portability"] == "intrinsic"
    assert found["Docker management"] == {
        "name": "Docker management",
        "description": "builds the tile server",
        "portability": "host_dependent",
        "host_requirements": "docker",
    }
    assert found["tide-tables"]["host_requirements"] == "curl, gnuplot"
    assert found["invoices"]["host_requirements"] == "pandoc"


def test_sub_agents_come_from_the_configuration_and_from_agents_md(tmp_path: Path) -> None:
    files, installed = of_layout(tmp_path, workspaces.NEW)
    roster = by_name(derived.derive("identity", files, None, installed)["structured"]["sub_agents"])
    assert list(roster) == ["Rover", "Scout", "Scribe"]
    assert roster["Rover"]["model_hints"] == {"primary_model": "meadow/mini-1", "last_model": "meadow/mini-1"}
    assert roster["Scout"]["routing_hints"] == "Research with sources, fact checks"
    assert roster["Scout"]["capabilities"] == [{"name": "web research"}, {"name": "citations"}]
    assert (roster["Scout"]["agent_id"], roster["Scout"]["status"]) == (None, "active")


def test_sub_agents_may_stand_in_a_list() -> None:
    text = "## Sub-agents\n\n- **Scout** (example/small): for research\n- no name here\n"
    assert identity({"AGENTS.md": text})["structured"]["sub_agents"] == [
        {
            "agent_id": None,
            "name": "Scout",
            "capabilities": [],
            "model_hints": {"primary_model": "example/small", "last_model": "example/small"},
            "routing_hints": "for research",
            "status": "active",
        }
    ]


def test_what_files_cannot_say_is_carried_over() -> None:
    previous = {
        "structured": {
            "names": {"primary": "Ada", "legal": "Ada A."},
            "psychology": {"neural_matrix": {"logic": 0.8}},
            "aieos_extensions": {"mbti": "INTJ"},
            "capabilities": [{"name": "writing", "credential_ids": ["c-1"], "priority": 1}, {"name": "sailing"}],
            "sub_agents": [
                {
                    "name": "Scout",
                    "agent_id": "a-1",
                    "performance_notes": "good",
                    "capabilities": [{"name": "x"}, {"name": "citations", "priority": 1}],
                }
            ],
        },
        "prose": {"custom_blocks": {"zeroclaw": "kept"}},
        "unknown_field": 7,
    }
    files = {"IDENTITY.md": workspaces.IDENTITY, "AGENTS.md": workspaces.AGENTS}
    found = identity(files, previous)
    assert found["unknown_field"] == 7
    assert found["structured"]["names"] == {"primary": "Juniper", "legal": "Ada A.", "nickname": "June"}
    assert found["structured"]["psychology"] == {"neural_matrix": {"logic": 0.8}}
    assert found["structured"]["aieos_extensions"] == {"mbti": "INTJ"}
    assert found["prose"]["custom_blocks"]["zeroclaw"] == "kept"
    capabilities = by_name(found["structured"]["capabilities"])
    assert capabilities["Writing"] | {"credential_ids": ["c-1"], "priority": 1} == capabilities["Writing"]
    assert "sailing" in capabilities
    scout = by_name(found["structured"]["sub_agents"])["Scout"]
    assert (scout["agent_id"], scout["performance_notes"]) == ("a-1", "good")
    assert scout["capabilities"] == [{"name": "web research"}, {"name": "citations", "priority": 1}]


def test_what_files_said_and_say_no_longer_is_gone() -> None:
    first = identity({"SOUL.md": "# S\n", "IDENTITY.md": workspaces.IDENTITY, "AGENTS.md": workspaces.AGENTS})
    then = identity({"IDENTITY.md": "- **Name:** Juniper\n"}, first)
    assert then["structured"] == {"names": {"primary": "Juniper"}}
    assert then["prose"] == {"identity_profile": "- **Name:** Juniper\n"}


def test_deriving_twice_changes_nothing(tmp_path: Path) -> None:
    files, installed = of_layout(tmp_path, workspaces.NEW)
    for document in ("identity", "principals", "runtime_hints", "manifest"):
        first = derived.derive(document, files, None, installed)
        assert derived.derive(document, files, first, installed) == {**first}


def test_a_workspace_alone_does_not_say_that_configuration_skills_and_heartbeat_are_gone(tmp_path: Path) -> None:
    files, installed = of_layout(tmp_path, workspaces.NEW)
    first = derived.derive("identity", files, None, installed)
    alone = FileMap({path: data for path, data in files.files.items() if path.startswith(RAW)})
    assert derived.derive("identity", alone, first) == first
    alone.files[RAW + "SOUL.md"] = b"# Another\n"
    edited = derived.derive("identity", alone, first)
    assert edited["structured"] == first["structured"]
    back = {path: data for path, data in files.files.items() if "/skills/" not in path}
    assert "invoices" not in by_name(
        derived.derive("identity", FileMap(back), edited, installed)["structured"]["capabilities"]
    )


def test_a_file_that_was_made_from_the_structure_is_not_taken_for_prose() -> None:
    previous = {"structured": {"names": {"primary": "Ada"}, "role": "pilot", "goals": ["fly"]}}
    made = {
        "SOUL.md": prose_synthesis.compose_soul(previous),
        "IDENTITY.md": prose_synthesis.compose_identity_profile(previous),
    }
    assert identity(made, previous)["structured"] == previous["structured"]
    assert not identity(made, previous).get("prose")
    edited = {**made, "SOUL.md": made["SOUL.md"] + "\nI like tea.\n"}
    assert identity(edited, previous)["prose"] == {"soul": edited["SOUL.md"]}


def test_an_empty_workspace_says_nothing() -> None:
    assert identity({}) is None


@pytest.mark.parametrize("name", ["SOUL.md", "IDENTITY.md", "AGENTS.md", "TOOLS.md", "skills/a/SKILL.md"])
def test_the_identity_is_derived_again_when_one_of_its_files_changed(name: str) -> None:
    assert derived.derivation("identity").reads(RAW + name)


@pytest.mark.parametrize("path", [RAW + "MEMORY.md", RAW + "sub/SOUL.md", RAW + "skills/a/b.md", "identity.json"])
def test_other_files_do_not_touch_the_identity(path: str) -> None:
    assert not derived.derivation("identity").reads(path)


def test_what_is_not_utf_8_does_not_stop_a_derivation() -> None:
    found = derived.derive("identity", FileMap({RAW + "SOUL.md": b"caf\xe9\n"}), None)
    assert found["prose"]["soul"] == "caf\ufffd\n"


def test_the_runtime_hints_are_the_configured_model(tmp_path: Path) -> None:
    files, installed = of_layout(tmp_path, workspaces.NEW)
    hints = derived.derive("runtime_hints", files, None, installed)
    assert hints == {
        "primary_model": "orchard/oak-4",
        "last_model": "orchard/oak-4",
        "provider": "orchard",
    }
    config = files.files[HOME + "openclaw.json"].replace(b"orchard/oak-4", b"orchard/pip-1")
    files.files[HOME + "openclaw.json"] = config
    assert derived.derive("runtime_hints", files, {**hints, "notes": "n"}, installed) == {
        "primary_model": "orchard/oak-4",
        "last_model": "orchard/pip-1",
        "provider": "orchard",
        "context_window": 200000,
        "notes": "n",
    }


def test_without_a_configured_model_there_are_no_hints() -> None:
    assert derived.derive("runtime_hints", FileMap({}), None) is None


def test_the_manifest_gets_name_version_and_layout(tmp_path: Path) -> None:
    files, installed = of_layout(tmp_path, workspaces.NEW)
    found = derived.derive("manifest", files, None, installed)
    assert found["agent"] == {"name": "Juniper", "source_runtime_version": "2026.9.6"}
    assert found["adapter_hints"]["openclaw"]["layout"] == "2026.9"


@pytest.mark.parametrize("layout", [workspaces.NEW, workspaces.OLD])
def test_identity_and_principals_fit_the_published_schemas(tmp_path: Path, layout: str) -> None:
    files, installed = of_layout(tmp_path, layout)
    stamp = {"id": derived.AGENT_ID, "agent_id": derived.AGENT_ID, "version": 1, "updated_at": "2026-11-20T00:00:00Z"}
    identity_document = {**derived.derive("identity", files, None, installed), **stamp}
    principals = derived.derive("principals", files, None, installed)
    for principal in principals["principals"]:
        principal["id"] = derived.AGENT_ID
        principal["profile"] |= {**stamp, "principal_id": derived.AGENT_ID}
    for name, document in (("identity", identity_document), ("principals", principals)):
        validate_as_published(name, document)
