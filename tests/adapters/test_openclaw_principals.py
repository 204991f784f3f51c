from __future__ import annotations

from typing import Any

import pytest

from lifeboat_adapters.persona import prose_synthesis
from support.adapters import openclaw_derived as derived
from support.adapters import openclaw_workspaces as workspaces
from support.adapters.openclaw_derived import FileMap

USER = "raw/openclaw/USER.md"


def principals(text: str | None, previous: Any = None) -> Any:
    return derived.derive("principals", FileMap({} if text is None else {USER: text.encode()}), previous)


def structured(text: str) -> Any:
    return principals(text)["principals"][0]["profile"]["structured"]


def test_user_md_is_one_human_with_prose_and_fields() -> None:
    (one,) = principals(workspaces.USER)["principals"]
    assert (one["principal_type"], one["agent_id"]) == ("human", None)
    assert one["profile"]["prose"] == {"user_profile": workspaces.USER}
    assert one["profile"]["structured"] == {
        "name": "Mira Lindqvist",
        "principal_type": "human",
        "timezone": "Europe/Stockholm",
        "locale": "sv-SE",
        "communication_preferences": {
            "tone": "casual",
            "response_length": "concise",
            "formatting": "minimal markdown",
        },
        "work_context": {
            "role": "Founder and lead surveyor",
            "company": "Tidewater Maps",
            "projects": ["harbour chart", "tile server"],
        },
        "relationships": [
            {"name": "Jonas", "relation": "brother", "notes": "keeps the boat"},
            {"name": "Priya Raman", "relation": "colleague", "notes": "drone pilot"},
        ],
        "custom_fields": {
            "what_to_call_them": "Mira",
            "pronouns": "she/her",
            "notes": "Sails on Thursdays; unreachable then.",
        },
    }


@pytest.mark.parametrize(
    ("text", "name"),
    [("# Alex\n\nhello\n", "Alex"), ("# USER.md - About your human\n", None), ("- **Name:** _(fill in)_\n", None)],
)
def test_the_name_may_be_the_title(text: str, name: str | None) -> None:
    assert structured(text).get("name") == name


def test_the_time_zone_may_stand_under_its_heading() -> None:
    assert (
        structured("# Alex\n\n## Timezone\n\nAmerica/Los_Angeles (PST)\n- Europe/Berlin\n")["timezone"]
        == "Europe/Berlin"
    )


def test_an_underscore_inside_a_word_is_no_emphasis() -> None:
    said = structured("- **Name:** _Mira_ **L**\n- **Timezone:** America/Los_Angeles\n")
    assert (said["name"], said["timezone"]) == ("Mira L", "America/Los_Angeles")


def test_projects_may_be_a_list() -> None:
    assert structured("## Projects\n\n- one\n- two\n")["work_context"] == {"projects": ["one", "two"]}


@pytest.mark.parametrize(("said", "locale"), [("de", "de"), ("pt_BR", "pt-BR"), ("Swedish", None), ("no idea", None)])
def test_a_locale_is_a_language_tag(said: str, locale: str | None) -> None:
    assert structured(f"- Locale: {said}\n- Name: X\n").get("locale") == locale


def test_the_human_keeps_id_and_unread_fields_and_others_are_carried_whole() -> None:
    agent = {"id": "p-2", "principal_type": "agent", "agent_id": None, "profile": {"id": "f-2", "version": 4}}
    human = {
        "id": "p-1",
        "principal_type": "human",
        "profile": {"id": "f-1", "version": 3, "structured": {"name": "Old", "custom_fields": {"shoe_size": "41"}}},
    }
    found = principals("- **Name:** New\n", {"principals": [agent, human], "extra": 1})
    assert found["extra"] == 1
    first, second = found["principals"]
    assert second == agent
    assert (first["id"], first["profile"]["id"]) == ("p-1", "f-1")
    assert first["profile"]["structured"]["name"] == "New"
    assert first["profile"]["structured"]["custom_fields"] == {"shoe_size": "41"}


def test_what_user_md_said_and_says_no_longer_is_gone() -> None:
    then = principals("- **Name:** Mira\n", principals(workspaces.USER))
    assert then["principals"][0]["profile"]["structured"] == {"name": "Mira", "principal_type": "human"}


def test_without_user_md_nothing_is_said() -> None:
    assert principals(None) is None
    previous = {"principals": [{"id": "p-2", "principal_type": "agent", "profile": {}}]}
    assert principals(None, previous) == previous


def test_a_removed_user_md_leaves_the_human_without_what_it_said() -> None:
    (one,) = principals(None, principals(workspaces.USER))["principals"]
    assert one["profile"]["structured"] == {"principal_type": "human"}
    assert not one["profile"].get("prose")


def test_a_user_md_that_was_made_from_the_structure_changes_nothing() -> None:
    profile = {
        "structured": {"name": "Ada", "timezone": "UTC", "relationships": [{"name": "Bo", "relation": "friend"}]}
    }
    previous = {"principals": [{"id": "p-1", "principal_type": "human", "profile": profile}]}
    assert principals(prose_synthesis.compose_user_profile(profile), previous) == previous
