"""Files of a ZeroClaw agent from its layers, and an identity that moves to OpenClaw and back."""

from __future__ import annotations

import json
import tomllib
from typing import Any

import pytest

from lifeboat_adapters.openclaw import ADAPTER as OPENCLAW
from lifeboat_adapters.persona import prose_synthesis
from lifeboat_adapters.zeroclaw.layers import aieos_synthesis
from lifeboat_adapters.zeroclaw.zeroclaw_paths import HOME, RAW
from lifeboat_adapters.zeroclaw.zeroclaw_rendering import render_zeroclaw_files
from lifeboat_alf.testing import sample_states
from lifeboat_alf.testing.sample_states import MemoryState
from support.adapters import openclaw_derived as openclaw
from support.adapters import openclaw_workspaces as workspaces
from support.adapters import zeroclaw_derived as derived
from support.adapters.openclaw_derived import FileMap
from support.adapters.zeroclaw_derived import CURRENT, NOVA, WITH_AIEOS, files, text_of

CONFIG = f"{HOME}config.toml"
HINTS = {"alias": "ada", "layout": "agents", "vector_weight": 0.6, "keyword_weight": 0.4, "auto_save": False}


def state_of(captured: FileMap | None = None, identity: Any = None, user: Any = None, **head: Any) -> MemoryState:
    state = MemoryState().set_head(**head)
    for path, body in (captured.files if captured else {}).items():
        state.put(path, body)
    if identity is not None:
        state.put_document("identity.json", identity)
    if user is not None:
        state.put_document(
            "principals.json", {"principals": [{"id": "p-1", "principal_type": "human", "profile": user}]}
        )
    return state


def written(state: MemoryState) -> dict[str, str]:
    return {made.path: made.data.decode() for made in render_zeroclaw_files(state)}


def config_in(state: MemoryState) -> Any:
    return tomllib.loads(written(state)[CONFIG])


def hinted(**hints: Any) -> Any:
    return {"adapter_hints": {"zeroclaw": {**HINTS, **hints}}}


# An agent from another runtime ---------------------------------------------------------------------------------------


def test_prose_is_written_as_it_is_under_the_same_names() -> None:
    blocks = {"tools_guidance": "# T\n", "heartbeat_checklist": "# H\n", "boot_checklist": "# B\n"}
    prose = {"soul": "# S\r\n", "identity_profile": "- **Name:** Ada\n", "operating_instructions": "# A\n"}
    state = state_of(None, {"prose": {**prose, "custom_blocks": blocks}}, {"prose": {"user_profile": "# U\n"}})
    found = {path.removeprefix(RAW): text for path, text in written(state).items() if path != CONFIG}
    assert found == {
        "SOUL.md": "# S\r\n",
        "IDENTITY.md": "- **Name:** Ada\n",
        "AGENTS.md": "# A\n",
        "TOOLS.md": "# T\n",
        "HEARTBEAT.md": "# H\n",
        "USER.md": "# U\n",
    }


def test_an_agent_with_prose_gets_no_document() -> None:
    state = state_of(None, {"prose": {"soul": "# S\n"}, "structured": {"names": {"primary": "Ada"}, "goals": ["fly"]}})
    assert f"{RAW}identity.json" not in written(state)
    assert "identity" not in config_in(state)["agents"]["ada"]


def test_an_agent_without_prose_gets_a_document_that_is_marked_and_configured() -> None:
    state = state_of(None, {"structured": {"names": {"primary": "Ada"}, "role": "pilot", "goals": ["fly"]}})
    found = written(state)
    document = json.loads(found[f"{RAW}identity.json"])
    assert document["identity"]["names"] == {"first": "Ada"}
    assert document["motivations"] == {"goals": {"long_term": ["fly"]}}
    assert document["history"] == {"occupation": "pilot"}
    assert aieos_synthesis.is_unedited_aieos(document)
    assert config_in(state)["agents"]["ada"]["identity"] == {"format": "aieos", "aieos_path": "identity.json"}
    assert f"{RAW}SOUL.md" not in found


def test_the_same_identity_gives_the_same_files() -> None:
    identity = {"structured": {"names": {"primary": "Ada"}, "goals": ["fly"]}}
    assert written(state_of(None, identity)) == written(state_of(None, identity))


def test_a_roster_has_no_place_in_a_document_and_is_told_in_agents_md() -> None:
    helper = {"agent_id": None, "name": "Scout", "capabilities": [], "status": "active"}
    found = written(state_of(None, {"structured": {"names": {"primary": "Ada"}, "sub_agents": [helper]}}))
    assert "Scout" in found[f"{RAW}AGENTS.md"]


def test_memories_are_rows_and_no_files() -> None:
    state = state_of(None, {"prose": {"soul": "# S\n"}}).add_all([sample_states.make_record("fact")])
    assert set(written(state)) == {f"{RAW}SOUL.md", CONFIG}


def test_a_fresh_configuration_has_model_and_memory_settings() -> None:
    hints = {"primary_model": "x/y", "last_model": "anthropic/claude-example-1", "provider": "anthropic"}
    embedding = {"provider": "openai", "model": "text-example-3", "dimensions": 256}
    state = state_of(None, {"prose": {"soul": "s"}}, runtime_hints=hints, **hinted(embedding=embedding))
    assert config_in(state) == {
        "schema_version": 3,
        "providers": {"models": {"anthropic": {"default": {"model": "claude-example-1"}}}},
        "risk_profiles": {"default": {}},
        "runtime_profiles": {"default": {}},
        "agents": {
            "ada": {
                "enabled": True,
                "risk_profile": "default",
                "runtime_profile": "default",
                "model_provider": "anthropic.default",
            }
        },
        "memory": {
            "backend": "sqlite",
            "vector_weight": 0.6,
            "keyword_weight": 0.4,
            "auto_save": False,
            "embedding_provider": "openai",
            "embedding_model": "text-example-3",
            "embedding_dimensions": 256,
        },
    }


def test_a_fresh_agent_has_the_profiles_without_which_zeroclaw_runs_no_turn() -> None:
    values = config_in(state_of(None, {"prose": {"soul": "s"}}))
    (agent,) = values["agents"].values()
    assert agent["risk_profile"] in values["risk_profiles"]
    assert agent["runtime_profile"] in values["runtime_profiles"]


@pytest.mark.parametrize(
    ("model", "place", "name"),
    [
        ("openrouter/anthropic/claude-example-1", "openrouter.default", "anthropic/claude-example-1"),
        ("google/gemini-example", "gemini.default", "gemini-example"),
        ("my-own/llama-example", "custom.my-own", "llama-example"),
    ],
)
def test_a_provider_gets_the_name_that_zeroclaw_knows(model: str, place: str, name: str) -> None:
    values = config_in(state_of(None, {"prose": {"soul": "s"}}, runtime_hints={"last_model": model}))
    (agent,) = values["agents"].values()
    assert agent["model_provider"] == place
    type_, alias = place.split(".")
    assert values["providers"]["models"][type_][alias]["model"] == name


@pytest.mark.parametrize("hints", [{}, {"last_model": "nameless"}, {"last_model": 5}, {"provider": "openai"}])
def test_without_a_provider_no_model_is_configured(hints: Any) -> None:
    assert "providers" not in config_in(state_of(None, {"prose": {"soul": "s"}}, runtime_hints=hints))


# An agent of ZeroClaw ------------------------------------------------------------------------------------------------


def captured(workspace: dict[str, str], config: str = WITH_AIEOS) -> tuple[FileMap, Any]:
    found = files(workspace, config)
    return found, derived.derive("identity", found)


@pytest.mark.parametrize("config", [CURRENT, WITH_AIEOS, "[[", ""])
def test_what_raw_says_already_is_not_written_again(config: str) -> None:
    found, identity = captured({"identity.json": text_of(NOVA), "SOUL.md": "# S\n"}, config)
    assert written(state_of(found, identity, **hinted())).keys() <= ({CONFIG} if not config else set())


def test_a_change_of_the_identity_changes_its_place_in_the_document() -> None:
    text = json.dumps(NOVA, indent=4).replace("[\n                    ", "[ ")
    found, identity = captured({"identity.json": text})
    identity["structured"]["linguistics"]["formality_level"] = 0.9
    assert written(state_of(found, identity, **hinted())) == {
        f"{RAW}identity.json": text.replace('"formality_level": 0.4', '"formality_level": 0.9')
    }


def test_a_change_of_the_identity_changes_a_document_in_the_configuration() -> None:
    config = WITH_AIEOS.replace('aieos_path = "identity.json"', f"# mine\naieos_inline = '{json.dumps(NOVA)}'")
    found, identity = captured({}, config)
    identity["structured"]["names"]["nickname"] = "No"
    (text,) = written(state_of(found, identity, **hinted())).values()
    inline = tomllib.loads(text)["agents"]["ada"]["identity"]["aieos_inline"]
    assert json.loads(inline)["identity"]["names"]["nickname"] == "No"
    assert "# mine" in text


def test_a_document_that_is_configured_and_missing_is_made() -> None:
    found, _ = captured({}, WITH_AIEOS)
    state = state_of(found, {"structured": {"names": {"primary": "Ada"}, "goals": ["fly"]}}, **hinted())
    assert json.loads(written(state)[f"{RAW}identity.json"])["identity"]["names"] == {"first": "Ada"}


@pytest.mark.parametrize("path", ["/etc/identity.json", "../identity.json"])
def test_no_document_is_written_outside_of_the_workspace(path: str) -> None:
    found, _ = captured({}, WITH_AIEOS.replace("identity.json", path))
    state = state_of(found, {"structured": {"names": {"primary": "Ada"}, "goals": ["fly"]}}, **hinted())
    assert written(state) == {}


def test_a_document_that_cannot_be_read_is_left_alone() -> None:
    found, _ = captured({"identity.json": "{"}, WITH_AIEOS)
    assert written(state_of(found, {"structured": {"names": {"primary": "Ada"}}}, **hinted())) == {}


def test_a_document_that_was_made_follows_its_identity() -> None:
    identity = {"structured": {"names": {"primary": "Ada"}, "goals": ["fly"]}}
    found, _ = captured({"identity.json": aieos_synthesis.aieos_as_text(aieos_synthesis.make_aieos(identity)).decode()})
    identity["structured"]["goals"] = ["land"]
    (text,) = written(state_of(found, identity, **hinted())).values()
    assert aieos_synthesis.is_unedited_aieos(json.loads(text))
    assert json.loads(text)["motivations"]["goals"]["long_term"] == ["land"]


def test_memories_of_an_agent_that_keeps_markdown_are_written_there() -> None:
    found, identity = captured({"SOUL.md": "# S\n"}, f'{CURRENT}\n[agents.ada.memory]\nbackend = "markdown"\n')
    state = state_of(found, identity, **hinted()).add_all([sample_states.make_record("fact")])
    assert "fact" in written(state)[f"{RAW}memory/default.md"]


# There and back ------------------------------------------------------------------------------------------------------


def in_openclaw(found: FileMap, identity: Any) -> FileMap:
    """Return the agent's files after a restore into OpenClaw, with its other files still in the archive."""
    made = OPENCLAW.render(state_of(found, identity))
    return FileMap({**found.files, **{item.path: item.data for item in made}})


def test_an_agent_with_a_document_only_is_recognisable_in_openclaw() -> None:
    there = in_openclaw(*captured({"identity.json": text_of(NOVA)}))
    texts = {name: there.files[f"raw/openclaw/{name}"].decode() for name in ("SOUL.md", "IDENTITY.md")}
    assert all(text.startswith(prose_synthesis.MARK) for text in texts.values())
    for words in ("Nova", "ENTP", "Neutral Good", "Bergen", "lighthouse", "tide waits for nobody", "openness"):
        assert words in texts["SOUL.md"]


def test_our_own_words_do_not_alter_an_identity_in_openclaw() -> None:
    found, identity = captured({"identity.json": text_of(NOVA)})
    assert openclaw.derive("identity", in_openclaw(found, identity), identity) == identity


def test_an_edit_of_our_own_words_in_openclaw_comes_back_as_just_that() -> None:
    found, identity = captured({"identity.json": text_of(NOVA)})
    there = in_openclaw(found, identity)
    path = "raw/openclaw/IDENTITY.md"
    there.files[path] = there.files[path].replace(b"noted; ", b"").replace(b"Learn the harbour", b"Learn to sail")
    edited = openclaw.derive("identity", there, identity)
    assert openclaw.derive("identity", there, edited) == edited
    text = written(state_of(there, edited, **hinted()))[f"{RAW}identity.json"]
    expected = text_of(NOVA).replace('"noted",\n', "").replace("Learn the harbour", "Learn to sail")
    assert text.split() == expected.split()


def test_what_is_taken_out_of_our_own_words_in_openclaw_is_gone() -> None:
    found, identity = captured({"identity.json": text_of(NOVA)})
    there = in_openclaw(found, identity)
    path = "raw/openclaw/IDENTITY.md"
    lines = there.files[path].splitlines(keepends=True)
    there.files[path] = b"".join(line for line in lines if b"Catchphrases" not in line and b"maths" not in line)
    edited = openclaw.derive("identity", there, identity)
    document = json.loads(written(state_of(there, edited, **hinted()))[f"{RAW}identity.json"])
    assert "catchphrases" not in document["linguistics"]["idiolect"]
    assert [item["name"] for item in document["capabilities"]["skills"]] == ["writing"]


PROSE = {"SOUL.md": workspaces.SOUL, "IDENTITY.md": workspaces.IDENTITY, "AGENTS.md": workspaces.AGENTS}


def test_prose_that_goes_to_zeroclaw_and_back_is_the_same() -> None:
    here = FileMap({f"raw/openclaw/{name}": text.encode() for name, text in PROSE.items()})
    identity = openclaw.derive("identity", here)
    made = {item.path: item.data for item in render_zeroclaw_files(state_of(here, identity))}
    there = FileMap({**here.files, **made})
    assert derived.derive("identity", there, identity) == identity
    assert list(OPENCLAW.render(state_of(there, identity))) == []


def test_an_edit_of_prose_in_zeroclaw_comes_back_as_just_that() -> None:
    here = FileMap({f"raw/openclaw/{name}": text.encode() for name, text in PROSE.items()})
    identity = openclaw.derive("identity", here)
    made = {item.path: item.data for item in render_zeroclaw_files(state_of(here, identity))}
    there = FileMap({**here.files, **made})
    edited_text = workspaces.IDENTITY.replace("Operations assistant", "Chief assistant")
    there.files[f"{RAW}IDENTITY.md"] = edited_text.encode()
    edited = derived.derive("identity", there, identity)
    back = {item.path: item.data.decode() for item in OPENCLAW.render(state_of(there, edited))}
    assert back == {"raw/openclaw/IDENTITY.md": edited_text}
