from __future__ import annotations

from typing import Any

import pytest

from lifeboat_adapters.persona import capabilities


def needing(requirement: str | None, portability: str | None = "host_dependent") -> dict[str, Any]:
    capability = {"name": "thing", "portability": portability, "host_requirements": requirement}
    return {"structured": {"capabilities": [{key: value for key, value in capability.items() if value is not None}]}}


def nothing(program: str) -> str | None:
    return None


def everything(program: str) -> str | None:
    return f"/bin/{program}"


@pytest.mark.parametrize(
    ("requirement", "programs"),
    [
        ("Docker Engine installed and accessible via CLI", ["docker"]),
        ("curl, gnuplot", ["curl", "gnuplot"]),
        ("docker", ["docker"]),
        ("python", ["python3"]),
        ("macOS with AppleScript support", ["osascript"]),
        ("a sunny day", []),
        ("", []),
    ],
)
def test_a_requirement_names_programs(requirement: str, programs: list[str]) -> None:
    assert capabilities.programs_in(requirement) == programs


def test_what_is_missing_is_reported_with_its_reason() -> None:
    assert capabilities.find_missing_capabilities(needing("Docker Engine"), nothing) == [
        {"name": "thing", "host_requirements": "Docker Engine", "code": "absent", "reason": "missing programs: docker"}
    ]
    assert capabilities.find_missing_capabilities(needing("Docker Engine"), everything) == []


def test_what_cannot_be_checked_is_said_to_be_so() -> None:
    assert (
        capabilities.find_missing_capabilities(needing("a sunny day"), everything)[0]["reason"]
        == "the requirements name no program that could be checked"
    )
    assert (
        capabilities.find_missing_capabilities(needing(None), everything)[0]["reason"]
        == "the requirements name no program that could be checked"
    )


@pytest.mark.parametrize("portability", ["intrinsic", None])
def test_a_capability_is_intrinsic_unless_it_says_otherwise(portability: str | None) -> None:
    assert capabilities.find_missing_capabilities(needing("Docker Engine", portability), nothing) == []


def test_capabilities_of_sub_agents_count_too() -> None:
    roster = [{"name": "Scout", "capabilities": needing("git")["structured"]["capabilities"]}]
    assert len(capabilities.find_missing_capabilities({"structured": {"sub_agents": roster}}, nothing)) == 1


@pytest.mark.parametrize(
    ("front", "expected"),
    [
        ('name: a\ndescription: "b c"\n', {"name": "a", "description": "b c", "portability": "intrinsic"}),
        ("name: 'a'\ndescription: >\n  b\n  c\n", {"name": "a", "description": "b c", "portability": "intrinsic"}),
        (
            'metadata: {"openclaw":{"os":["darwin"],"requires":{"bins":["jq"]}}}\n',
            {"name": "folder", "portability": "host_dependent", "host_requirements": "jq, macOS"},
        ),
        (
            "requires:\n  bins:\n    - jq\n    - yq\n",
            {"name": "folder", "portability": "host_dependent", "host_requirements": "jq, yq"},
        ),
    ],
)
def test_a_skill_says_in_its_front_matter_what_it_needs(front: str, expected: dict[str, str]) -> None:
    assert capabilities.capability_from_skill("folder", f"---\n{front}---\n\n# Text\n") == expected


def test_a_skill_without_front_matter_has_the_name_of_its_folder() -> None:
    assert capabilities.capability_from_skill("folder", "# Text\nname: no\n") == {
        "name": "folder",
        "portability": "intrinsic",
    }
