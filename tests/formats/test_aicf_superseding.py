"""Links that replace memories, applied only on the user's request."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from lifeboat_formats.aicf.aicf_format import FORMAT
from lifeboat_formats.aicf.records import superseding
from lifeboat_formats.interchange import change_marks
from support.formats.aimem_states import AROUND

FILE = """1|@AICF_VERSION
2|version=3.1
3|
4|@INSIGHTS
5|@INSIGHTS The ferry leaves at nine.|GENERAL|HIGH|memory_type=semantic
6|@INSIGHTS The ferry leaves at eight.|GENERAL|HIGH|memory_type=semantic
7|
8|@LINKS
9|insight_001->insight_002|supersedes
"""


def read(path: Path, **options: Any) -> dict[str, dict[str, Any]]:
    with FORMAT.read(str(path), options, AROUND) as found:
        return {str(record["content"])[-6:]: record for record in found.records}


def test_a_link_replaces_nothing_unless_it_is_asked_for(tmp_path: Path) -> None:
    (tmp_path / "a.aicf").write_text(FILE)
    plain = read(tmp_path / "a.aicf")
    (new, old) = plain.values()
    assert [link["relation"] for link in new["related_records"]] == ["supersedes"]
    assert not any("supersedes" in each or each["status"] != "active" for each in (new, old))


def test_what_a_link_replaces_is_superseded_and_comes_first(tmp_path: Path) -> None:
    (tmp_path / "a.aicf").write_text(FILE)
    (old, new) = read(tmp_path / "a.aicf", **{"apply-supersedes": True}).values()
    assert old["content"].endswith("eight.") and (old["status"], new["status"]) == ("superseded", "active")
    assert new["supersedes"] == old["id"]
    assert change_marks.is_unchanged(old, "x_aicf") and change_marks.is_unchanged(new, "x_aicf")


LINKED = st.lists(st.tuples(st.integers(0, 7), st.integers(0, 8)), max_size=30)


@settings(max_examples=150, deadline=None)
@given(LINKED)
def test_whatever_links_say_no_circle_comes_of_it(links: list[tuple[int, int]]) -> None:
    records = [
        {
            "id": str(number),
            "status": "active",
            "related_records": [{"id": str(b), "relation": "supersedes"} for a, b in links if a == number],
        }
        for number in range(8)
    ]
    made = superseding.apply_supersedes(records)
    assert sorted(record["id"] for record in made) == sorted(record["id"] for record in records)
    place = {record["id"]: number for number, record in enumerate(made)}
    replaced = [record["supersedes"] for record in made if "supersedes" in record]
    assert len(replaced) == len(set(replaced))
    assert all(place[record["supersedes"]] < place[record["id"]] for record in made if "supersedes" in record)
    assert {record["id"] for record in made if record["status"] == "superseded"} == set(replaced)
    assert bool(replaced) == any(a != b and b < 8 for a, b in links)


def test_a_long_chain_takes_time_in_proportion_to_it() -> None:
    count = 50_000
    link = [[{"id": str(number + 1), "relation": "supersedes"}] for number in range(count)]
    records = [{"id": str(number), "status": "active", "related_records": link[number]} for number in range(count)]
    made = superseding.apply_supersedes(records)
    assert [record["id"] for record in made] == [str(number) for number in reversed(range(count))]
