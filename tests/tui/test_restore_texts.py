"""Texts about a completed restore."""

from __future__ import annotations

from lifeboat_core.documents.restore_documents import Done, LeftOut
from lifeboat_tui.screens.restore.restore_texts import describe_restored


def test_a_restore_that_left_something_out_is_no_success() -> None:
    done = Done(
        name="Juniper",
        sequence=3,
        to="/ws",
        left_out=(LeftOut("pic.png", "its content differs from the signed content"),),
    )
    said = "Restored sequence 3 of Juniper to /ws, but 1 file could not be restored."
    assert next(describe_restored(done)) == ("warning", said)
