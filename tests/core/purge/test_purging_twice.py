"""A second purge of bytes that an earlier one has changed."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.core.machines import Machine
from support.core.purged import TEXT, bodies, everything, purge, request, same

SECOND = "The door code is 482913 at the back."


@pytest.mark.parametrize("passage", [False, True])
def test_what_was_cut_before_is_cut_again_and_every_sequence_still_holds(tmp_path: Path, passage: bool) -> None:
    machine = Machine(tmp_path / "laptop")
    machine.add()
    machine.write("notes/trip.txt", f"before\n{TEXT}\nbetween\n{SECOND}\nafter\n")
    machine.write("memory/2026-11-12.md", f"# Today\n\n- tea\n- {TEXT}\n- boat\n- {SECOND}\n")
    machine.capture()
    with machine.context.vault(machine.agent.id) as vault:
        before = everything(vault)
    purge(machine, request(passage=passage))
    purge(machine, request(text=SECOND, passage=passage))
    with machine.context.vault(machine.agent.id) as vault:
        assert same(before, everything(vault))
        assert vault.verify(trusted=machine.context.keys().trusted).findings == []
        held = dict(bodies(vault))
        assert [name for name, body in held.items() if TEXT.encode() in body or SECOND.encode() in body] == []
        assert held["artifacts/notes/trip.txt"] == b"before\n\nbetween\n\nafter\n"
