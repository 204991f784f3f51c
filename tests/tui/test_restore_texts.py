"""What the wizard says of a restore that is done."""

from __future__ import annotations

from lifeboat_tui.documents.restore import Done, LeftOut
from lifeboat_tui.screens.restore_texts import done_lines


def test_a_restore_that_left_something_out_is_no_success() -> None:
    done = Done("Juniper", 3, "/ws", left_out=(LeftOut("pic.png", "its bytes are not those that were signed"),))
    assert next(done_lines(done)) == ("warning", "Sequence 3 of Juniper is in /ws, without 1 file of it.")
