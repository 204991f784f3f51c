"""The principals of a ZeroClaw agent from USER.md (ALF §3.3)."""

from __future__ import annotations

from typing import Any

from lifeboat_adapters.persona import prose_synthesis
from support.adapters import openclaw_derived as openclaw
from support.adapters import openclaw_workspaces as workspaces
from support.adapters import zeroclaw_derived as derived
from support.adapters.openclaw_derived import FileMap
from support.adapters.zeroclaw_derived import files


def principals(text: str | None, previous: Any = None) -> Any:
    return derived.derive("principals", files({} if text is None else {"USER.md": text}), previous)


def from_openclaw() -> Any:
    return openclaw.derive("principals", FileMap({"raw/openclaw/USER.md": workspaces.USER.encode()}))


def test_user_md_is_one_human_with_the_same_fields_as_in_openclaw() -> None:
    (here,), (there,) = principals(workspaces.USER)["principals"], from_openclaw()["principals"]
    assert {**here["profile"], "source_format": "", "raw_source": {}} == {
        **there["profile"],
        "source_format": "",
        "raw_source": {},
    }


def test_a_profile_from_another_runtime_does_not_change_by_being_read_here() -> None:
    before = from_openclaw()
    assert principals(workspaces.USER, before) == before


def test_a_line_that_is_taken_out_here_is_gone_from_a_profile_of_another_runtime() -> None:
    text = "".join(line for line in workspaces.USER.splitlines(keepends=True) if "Timezone" not in line)
    (one,) = principals(text, from_openclaw())["principals"]
    assert "timezone" not in one["profile"]["structured"]


def test_a_user_md_that_lifeboat_made_and_somebody_edited_says_what_is_gone() -> None:
    profile = {"structured": {"name": "Mira", "timezone": "Europe/Oslo", "custom_fields": {"pronouns": "she"}}}
    before = {"principals": [{"principal_type": "human", "agent_id": None, "profile": profile}]}
    made = prose_synthesis.compose_user_profile(profile)
    assert principals(made, before) == before
    (one,) = principals(made.replace("- **Pronouns:** she\n", ""), before)["principals"]
    assert one["profile"]["structured"] == {"name": "Mira", "timezone": "Europe/Oslo"}
