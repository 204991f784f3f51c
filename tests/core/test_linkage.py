"""Links of capabilities with credentials: derived from skills, written on both sides, kept if an archive
brought them."""

from __future__ import annotations

from pathlib import Path

import pytest

from lifeboat_adapters.credential_types import CredentialNeed
from lifeboat_alf.archive import archive_layout
from lifeboat_alf.common import json_codec
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_core.capture import capability_links
from lifeboat_core.capture.capability_links import CapabilityLink, LinkChange
from lifeboat_core.state import state_documents
from support.core.protected import MEMORY, Protected

SKILL = """---
name: Tide watch
description: Reads the tide.
metadata: {"openclaw": {"requires": {"env": ["TIDE_TOKEN"], "bins": ["curl"]}, "primaryEnv": "TIDE_API_KEY"}}
---

# Tide
"""
CONFIG = """{
  gateway: { auth: { token: "gateway-fake-0123456789abcdef" } },
  skills: { entries: { "tide": { apiKey: "%s" } } },
}
"""
KEY, OTHER = "sk-fake-tide-0123456789abcdef", "sk-fake-tide-fedcba9876543210"


@pytest.fixture
def ada(tmp_path: Path) -> Protected:
    made = Protected(tmp_path, config=CONFIG % KEY)
    made.write("MEMORY.md", MEMORY)
    made.write("skills/tide/SKILL.md", SKILL)
    made.write(".env", "TIDE_TOKEN=tide-fake-0123456789abcdef\nOTHER_API_KEY=other-fake-0123456789abcdef\n")
    made.add()
    made.capture()
    return made


def _capability(ada: Protected, name: str = "Tide watch") -> JsonObject:
    found = state_documents.list_capabilities(ada.document(archive_layout.IDENTITY))
    return next(each for each in found if each["name"] == name)


def _credentials(ada: Protected) -> dict[str, JsonObject]:
    return {each["label"]: each for each in ada.document(archive_layout.CREDENTIALS)["credentials"]}


def test_a_skill_and_the_credentials_it_declares_name_each_other(ada: Protected) -> None:
    credentials = _credentials(ada)
    wanted = [credentials[label] for label in (".env: TIDE_TOKEN", "openclaw.json: skills.entries.tide.apiKey")]
    assert _capability(ada)["credential_ids"] == sorted(each["id"] for each in wanted)
    assert [each["capabilities_granted"] for each in wanted] == [["Tide watch"], ["Tide watch"]]


def test_a_credential_of_no_capability_in_particular_has_no_such_field(ada: Protected) -> None:
    credentials = _credentials(ada)
    for label in (".env: OTHER_API_KEY", "openclaw.json: gateway.auth.token"):
        assert "capabilities_granted" not in credentials[label]


def test_a_copy_of_a_key_in_a_note_is_no_credential_of_the_skill(ada: Protected) -> None:
    before = _capability(ada)
    ada.write("memory/keys.md", f"# Keys\n\nIt is {KEY}.\n")
    ada.capture()
    assert _capability(ada) == before


def test_a_rotated_key_changes_no_link(ada: Protected) -> None:
    before, version = _capability(ada), ada.document(archive_layout.IDENTITY)["version"]
    ada.write_config(CONFIG % OTHER)
    ada.capture()
    assert (_capability(ada), ada.document(archive_layout.IDENTITY)["version"]) == (before, version)


def test_a_new_link_leaves_the_version_of_the_identity_and_the_next_capture_finds_nothing(ada: Protected) -> None:
    version = ada.document(archive_layout.IDENTITY)["version"]
    ada.write(".env", "TIDE_API_KEY=tide-fake-aaaaaaaaaaaaaaaa1\n")
    assert ada.capture().changed
    assert ada.document(archive_layout.IDENTITY)["version"] == version
    assert "Tide watch" in _credentials(ada)[".env: TIDE_API_KEY"]["capabilities_granted"]
    assert not ada.capture(full=True).changed


def test_a_skill_that_needs_it_no_more_gives_the_link_up(ada: Protected) -> None:
    ada.write("skills/tide/SKILL.md", SKILL.replace("TIDE_TOKEN", "MOON_TOKEN"))
    ada.capture()
    assert "capabilities_granted" not in _credentials(ada)[".env: TIDE_TOKEN"]
    assert len(_capability(ada)["credential_ids"]) == 1


def test_a_key_that_went_is_named_no_more(ada: Protected) -> None:
    ada.write(".env", "# nothing\n")
    ada.write_config(CONFIG.replace('apiKey: "%s"', ""))
    ada.capture()
    assert "credential_ids" not in _capability(ada)


def test_a_reference_in_the_configuration_leads_to_the_variable(ada: Protected) -> None:
    ada.write_config(CONFIG.replace('"%s"', '{ source: "env", provider: "default", id: "OTHER_API_KEY" }'))
    ada.capture()
    assert _credentials(ada)[".env: OTHER_API_KEY"]["capabilities_granted"] == ["Tide watch"]


# The decision -------------------------------------------------------------------------------------------------------


def _linked(capability: JsonObject, credential: JsonObject, change: LinkChange) -> tuple[JsonObject, JsonObject]:
    capability_links.write_links([capability], [credential], change)
    return capability, credential


def _change(
    made: set[CapabilityLink] | None = None, links: set[CapabilityLink] | None = None, gone: set[str] | None = None
) -> LinkChange:
    return LinkChange(frozenset(made or ()), frozenset(links or ()), frozenset(gone or ()))


def test_what_an_archive_brought_stays_as_it_was_written() -> None:
    capability: JsonObject = {"name": "Tide", "credential_ids": ["b", "unknown", "a"]}
    credential: JsonObject = {"id": "a", "capabilities_granted": ["tide", "elsewhere"]}
    before = json_codec.encode_canonical([capability, credential])
    assert json_codec.encode_canonical([*_linked(capability, credential, _change())]) == before


def test_what_an_archive_brought_goes_when_its_end_goes() -> None:
    capability: JsonObject = {"name": "Tide", "credential_ids": ["b", "a"]}
    credential: JsonObject = {"id": "a", "capabilities_granted": ["Moon"]}
    _linked(capability, credential, _change(gone={"b", "moon"}))
    assert (capability["credential_ids"], "capabilities_granted" in credential) == (["a"], False)


def test_a_new_link_follows_those_that_are_there() -> None:
    capability: JsonObject = {"name": "Tide", "credential_ids": ["z"]}
    _linked(capability, {"id": "a"}, _change(links={CapabilityLink("tide", "a")}))
    assert capability["credential_ids"] == ["z", "a"]


def test_a_list_that_nobody_understands_is_left_alone() -> None:
    capability: JsonObject = {"name": "Tide", "credential_ids": {"primary": "a"}}
    _linked(capability, {"id": "a"}, _change(links={CapabilityLink("tide", "a")}))
    assert capability["credential_ids"] == {"primary": "a"}


@pytest.mark.parametrize(
    ("label", "is_met"),
    [
        ("openclaw.json: skills.entries.tide.apiKey", True),
        ("openclaw.json: skills.entries.tides.apiKey", False),
        (".env: TIDE_TOKEN", True),
        ("openclaw.json: env.TIDE_TOKEN", True),
        (".env: MY_TIDE_TOKEN", False),
        ("", False),
    ],
)
def test_a_need_is_met_by_whole_names(label: str, is_met: bool) -> None:
    need = CredentialNeed("Tide", frozenset(("TIDE_TOKEN", "env.TIDE_TOKEN")), ("openclaw.json: skills.entries.tide.",))
    assert bool(capability_links.find_needed_links([need], {"a": {"id": "a", "label": label}})) is is_met
