"""What a purge removes besides the matches."""

from __future__ import annotations

from typing import Any

from lifeboat_alf.purging.collateral_losses import BLACK, find_collateral_losses
from lifeboat_alf.purging.purge_terms import PurgeTerms
from support.alf.purge_histories import History

NOTE = "raw/openclaw/MEMORY.md"
SECTION = "## Travel\n\nThe number is X1234567 now. Ben likes trains."


def losses(wanted: PurgeTerms, **options: Any) -> dict[str, list[str]]:
    history = History()
    record = history.record(SECTION)
    history.file(NOTE, f"# Memory\n\n{SECTION}\n\n## Tea\n\nGreen.\n".encode(), records=[record.record_id])
    history.record("Nothing of it.")
    plan = history.plan(wanted=wanted, **options)
    found = find_collateral_losses(lambda: history.items, plan, wanted)
    return {"memory" if where == record.record_id else where: texts for where, texts in found.items()}


def test_of_a_passage_nothing_else_goes() -> None:
    assert losses(PurgeTerms(("X1234567",)), passage=True) == {}


def test_of_a_line_the_rest_of_it_is_shown_with_the_match_blacked_out() -> None:
    line = f"The number is {BLACK} now. Ben likes trains."
    assert losses(PurgeTerms(("X1234567",), whole_lines=True), passage=True) == {"memory": [line], NOTE: [line]}


def test_of_a_memory_all_that_it_said_is_shown_with_the_match_blacked_out() -> None:
    found = losses(PurgeTerms(("X1234567",)))
    assert found["memory"] == [SECTION.replace("X1234567", BLACK)]
    assert any("Ben likes trains." in text for text in found[NOTE])
    assert not any("X1234567" in text for texts in found.values() for text in texts)
