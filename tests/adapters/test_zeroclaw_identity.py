"""The identity of a ZeroClaw agent from its files."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from lifeboat_adapters.contract import Placement
from lifeboat_adapters.zeroclaw import ADAPTER
from lifeboat_adapters.zeroclaw.layers import zeroclaw_identity as layer
from lifeboat_adapters.zeroclaw.layers.aieos import to_aieos
from lifeboat_adapters.zeroclaw.layers.aieos_synthesis import aieos_as_text, make_aieos
from lifeboat_adapters.zeroclaw.zeroclaw_paths import HOME, RAW
from support.adapters import openclaw_derived as openclaw
from support.adapters import zeroclaw_derived as derived
from support.adapters.zeroclaw_derived import CURRENT, NOVA, WITH_AIEOS, files, text_of
from support.alf.published_schemas import validate_as_published

EARLY = 'default_provider = "anthropic"\ndefault_model = "claude-example-1"\n'
DOCUMENT = '{"identity": {"names": {"first": "Nova"}}}'
INLINE = f"{CURRENT}\n[agents.ada.identity]\nformat = 'aieos'\naieos_inline = '{DOCUMENT}'\n"


def identity(workspace: dict[str, str], config: str | None = CURRENT, previous: Any = None) -> Any:
    return derived.derive("identity", files(workspace, config), previous)


def structured(workspace: dict[str, str], config: str | None = CURRENT) -> Any:
    return identity(workspace, config)["structured"]


# Markdown -------------------------------------------------------------------------------------------------------------


def test_the_prose_is_the_files_as_they_stand() -> None:
    found = identity(
        {
            "SOUL.md": "# S\r\n",
            "IDENTITY.md": "- **Name:** Ada\n",
            "AGENTS.md": "# A\n",
            "TOOLS.md": "# T\n",
            "HEARTBEAT.md": "# H\n",
            "BOOTSTRAP.md": "# B\n",
        }
    )
    assert found["prose"] == {
        "soul": "# S\r\n",
        "identity_profile": "- **Name:** Ada\n",
        "operating_instructions": "# A\n",
        "custom_blocks": {"tools_guidance": "# T\n", "heartbeat_checklist": "# H\n", "bootstrap": "# B\n"},
    }


def test_a_profile_in_markdown_gives_structured_fields() -> None:
    found = structured({"IDENTITY.md": "- **Name:** Ada\n- **Role:** pilot\n\n## Goals\n\n- fly\n"})
    assert (found["names"], found["role"], found["goals"]) == ({"primary": "Ada"}, "pilot", ["fly"])


def test_an_agent_that_no_file_names_has_the_name_of_its_installation() -> None:
    assert structured({"SOUL.md": "Be kind.\n"})["names"] == {"primary": "Nameless"}


@pytest.mark.parametrize("path", [f"{RAW}skills/knots/SKILL.md", f"{HOME}shared/skills/basics/knots/SKILL.md"])
def test_skills_of_both_layouts_are_capabilities(path: str) -> None:
    captured = files({})
    captured.files[path] = b"---\nname: knots\ndescription: Ties them\n---\n"
    (found,) = derived.derive("identity", captured)["structured"]["capabilities"]
    assert (found["name"], found["description"]) == ("knots", "Ties them")


def test_an_empty_workspace_says_nothing() -> None:
    assert identity({}, None) is None


# AIEOS ----------------------------------------------------------------------------------------------------------------


def test_the_document_that_the_configuration_names_is_read() -> None:
    found = structured({"identity.json": text_of(NOVA)}, WITH_AIEOS)
    assert to_aieos(found) == NOVA


def test_a_document_counts_before_markdown_which_tells_the_rest() -> None:
    profile = "- **Name:** Other\n- **Role:** pilot\n\n## Goals\n\n- fly\n"
    found = structured({"identity.json": text_of(NOVA), "IDENTITY.md": profile}, WITH_AIEOS)
    assert (found["names"]["primary"], found["role"]) == ("Nova", "pilot")
    assert found["goals"][0] == "Bring every boat home"


def test_a_document_stands_on_top_in_an_early_configuration() -> None:
    config = f'{EARLY}\n[identity]\nformat = "aieos"\naieos_path = "./persona/nova.json"\n'
    assert structured({"persona/nova.json": text_of(NOVA)}, config)["names"]["primary"] == "Nova"


def test_a_document_may_stand_in_the_configuration_and_is_kept_whole() -> None:
    found = identity({}, INLINE)
    assert found["structured"]["names"]["primary"] == "Nova"
    assert found["raw_source"]["zeroclaw"]["aieos"] == {"identity": {"names": {"first": "Nova"}}}


def test_a_document_inline_is_forgotten_when_it_is_taken_out_of_the_configuration() -> None:
    before = identity({"SOUL.md": "# S\n"}, INLINE)
    after = identity({"SOUL.md": "# S\n"}, CURRENT, before)
    assert "aieos" not in after["raw_source"]["zeroclaw"]


def test_a_file_counts_before_a_document_in_the_configuration() -> None:
    config = INLINE + 'aieos_path = "identity.json"\n'
    assert structured({"identity.json": text_of(NOVA)}, config)["names"]["nickname"] == "N"


@pytest.mark.parametrize(
    "settings",
    ['format = "openclaw"\naieos_path = "identity.json"', 'format = "aieos"', 'format = "aieos"\naieos_path = 5'],
)
def test_without_format_or_path_there_is_no_document(settings: str) -> None:
    config = f"{CURRENT}\n[agents.ada.identity]\n{settings}\n"
    assert "psychology" not in structured({"identity.json": text_of(NOVA), "SOUL.md": "x"}, config)


@pytest.mark.parametrize("path", ["../other/identity.json", "/etc/identity.json", "a/../../identity.json", "."])
def test_a_path_out_of_the_workspace_is_not_followed(path: str) -> None:
    config = WITH_AIEOS.replace('"identity.json"', f'"{path}"')
    assert "psychology" not in structured({"identity.json": text_of(NOVA), "SOUL.md": "x"}, config)


def test_an_absolute_path_into_the_workspace_is_followed() -> None:
    config = WITH_AIEOS.replace('"identity.json"', '"/invented/workspace/identity.json"')
    assert structured({"identity.json": text_of(NOVA)}, config)["names"]["primary"] == "Nova"


@pytest.mark.parametrize(
    "broken", ["", "{", "[]", "5", '{"a": NaN}', '{"a": 1, "a": 2}', '{"identity": ' * 80 + "1" + "}" * 80, "\udcff"]
)
def test_a_document_that_cannot_be_read_says_nothing_new(broken: str) -> None:
    captured = files({"identity.json": text_of(NOVA), "SOUL.md": "# S\n"}, WITH_AIEOS)
    before = derived.derive("identity", captured)
    captured.files[f"{RAW}identity.json"] = broken.encode("utf-8", "surrogateescape")
    assert derived.derive("identity", captured, before) == before


def test_a_configuration_that_cannot_be_read_says_nothing_new() -> None:
    captured = files({"identity.json": text_of(NOVA)}, WITH_AIEOS)
    before = derived.derive("identity", captured)
    captured.files[f"{HOME}config.toml"] = b"schema_version = \n[["
    assert derived.derive("identity", captured, before) == before


def test_a_workspace_without_its_home_does_not_say_that_the_document_is_gone() -> None:
    before = identity({"identity.json": text_of(NOVA)}, WITH_AIEOS)
    assert identity({"identity.json": text_of(NOVA)}, None, before) == before


def test_what_a_document_said_and_says_no_longer_is_gone() -> None:
    before = identity({"identity.json": text_of(NOVA)}, WITH_AIEOS)
    less = copy.deepcopy(NOVA)
    del less["linguistics"], less["history"], less["psychology"]["neural_matrix"]["logic"]
    after = identity({"identity.json": text_of(less)}, WITH_AIEOS, before)
    assert to_aieos(after["structured"]) == less


@pytest.mark.parametrize("config", [CURRENT, WITH_AIEOS, INLINE])
def test_deriving_twice_changes_nothing(config: str) -> None:
    workspace = {"identity.json": text_of(NOVA), "SOUL.md": "# S\n", "IDENTITY.md": "- **Name:** Ada\n- **Role:** x\n"}
    once = identity(workspace, config)
    assert identity(workspace, config, once) == once


def test_a_document_that_lifeboat_made_says_nothing_new() -> None:
    before = {"structured": {"names": {"primary": "Ada"}, "role": "pilot", "goals": ["fly"]}}
    document = aieos_as_text(make_aieos(before)).decode()
    assert identity({"identity.json": document}, WITH_AIEOS, before) == before


def test_a_document_that_lifeboat_made_says_nothing_when_the_identity_has_changed_since() -> None:
    before = {"structured": {"names": {"primary": "Ada"}, "goals": ["fly"]}}
    document = aieos_as_text(make_aieos(before)).decode()
    now = {"structured": {"names": {"primary": "Vega"}, "goals": ["land"]}}
    assert identity({"identity.json": document}, WITH_AIEOS, now) == now


def test_a_document_that_lifeboat_made_is_all_that_a_copy_knows() -> None:
    document = aieos_as_text(make_aieos({"structured": {"names": {"primary": "Ada"}, "goals": ["fly"]}})).decode()
    assert structured({"identity.json": document}, WITH_AIEOS)["goals"] == ["fly"]


def test_a_document_that_lifeboat_made_and_somebody_edited_is_read() -> None:
    before = {"structured": {"names": {"primary": "Ada"}, "goals": ["fly"]}}
    document = aieos_as_text(make_aieos(before)).decode().replace('"fly"', '"land"')
    assert identity({"identity.json": document}, WITH_AIEOS, before)["structured"]["goals"] == ["land"]


# Helpers --------------------------------------------------------------------------------------------------------------


def test_delegates_of_an_early_configuration_are_helpers_with_their_models() -> None:
    config = f'{EARLY}\n[agents.scout]\nprovider = "openai"\nmodel = "gpt-example"\n'
    (helper,) = structured({}, config)["sub_agents"]
    assert (helper["name"], helper["status"]) == ("scout", "active")
    assert helper["model_hints"] == {"primary_model": "openai/gpt-example", "last_model": "openai/gpt-example"}


def test_delegates_of_a_current_configuration_are_helpers_and_other_agents_are_not() -> None:
    own = f'{CURRENT}delegates = ["scout", "gone", 5]\n'
    config = f'{own}\n[agents.scout]\nmodel_provider = "anthropic.main"\n\n[agents.stranger]\nenabled = true\n'
    roster = {helper["name"]: helper for helper in structured({}, config)["sub_agents"]}
    assert roster.keys() == {"scout", "gone"}
    assert roster["scout"]["model_hints"]["last_model"] == "anthropic/claude-example-1"
    assert "model_hints" not in roster["gone"]


def test_what_agents_md_tells_of_a_helper_joins_what_the_configuration_says() -> None:
    config = f'{CURRENT}delegates = ["scout"]\n'
    agents_md = "## Sub-agents\n\n- **scout**: looks ahead\n"
    (helper,) = structured({"AGENTS.md": agents_md}, config)["sub_agents"]
    assert helper["routing_hints"] == "looks ahead"


@pytest.mark.parametrize("name", ["identity.json", "aieos.identity.json", "nova_persona.json"])
def test_a_document_is_state_of_the_runtime(name: str) -> None:
    assert ADAPTER.place(RAW + name, is_folder=False) is Placement.MANAGED


# Documents -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path",
    [f"{RAW}SOUL.md", f"{RAW}BOOTSTRAP.md", f"{RAW}identity.json", "artifacts/nova.json", f"{HOME}config.toml"],
)
def test_the_identity_is_derived_again_when_one_of_its_files_changed(path: str) -> None:
    assert layer.is_read_for_zeroclaw_identity(path)


@pytest.mark.parametrize("path", [f"{RAW}memory/2026-02-10.md", f"{RAW}USER.md", f"{HOME}auth-profiles.json"])
def test_other_files_do_not_touch_the_identity(path: str) -> None:
    assert not layer.is_read_for_zeroclaw_identity(path)


def test_the_identity_fits_the_published_schema() -> None:
    stamp = {"id": openclaw.AGENT_ID, "agent_id": openclaw.AGENT_ID, "version": 1, "updated_at": "2026-11-20T00:00:00Z"}
    found = {**identity({"identity.json": text_of(NOVA), "SOUL.md": "# S\n"}, WITH_AIEOS), **stamp}
    validate_as_published("identity", found)
