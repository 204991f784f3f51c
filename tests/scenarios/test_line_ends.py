"""Notes with line ends of every kind come back to the byte from every place that keeps them, and in the view of an
older client."""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from lifeboat_alf.states.agent_state import State
from lifeboat_vault.legacy.legacy_state import legacy_view
from support.oracle.copies import REMOTES, Copies, make_copies
from support.prepared_folders import PreparedFolders

pytestmark = pytest.mark.skipif(os.name == "nt", reason="an endpoint of this process is used")

ENDS = ("\n", "\r\n", "\r", "\r\r", "\x0b", "\x0c", "\x85", "\u2028", "\u2029", "")
LINE = st.tuples(
    st.sampled_from(["", "  ", "# Sea", "## Tea", "- a fact", "text of the harbour", "---"]), st.sampled_from(ENDS)
)
NOTE = st.lists(LINE, min_size=1, max_size=8).map(lambda lines: "".join(text + end for text, end in lines).encode())
NOTES = st.lists(NOTE, min_size=10, max_size=20)


def _written(copies: Copies, notes: list[bytes]) -> dict[str, bytes]:
    """The notes by their names, written into the workspace."""
    made = {f"memory/{'active-context' if place == 0 else place}.md": note for place, note in enumerate(notes)}
    for name, body in made.items():
        path = copies.laptop.workspace / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(body)
    return made


def _notes_of(state: State, names: dict[str, bytes]) -> dict[str, bytes]:
    return {name: state.body(f"raw/openclaw/{name}") for name in names}


@given(NOTES)
@settings(
    max_examples=2,
    phases=[Phase.generate],
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
def test_every_line_end_comes_back_from_everywhere(prepared_folders: PreparedFolders, notes: list[bytes]) -> None:
    copies = prepared_folders.restore("an agent with every remote", make_copies)
    with pytest.MonkeyPatch.context() as patch:
        copies.install(patch)
        wanted = _written(copies, notes)
        copies.laptop.clock.advance(minutes=61)
        number = copies.laptop.capture().sequence
        assert number is not None
        with copies.laptop.context.vault(copies.laptop.agent.id) as vault:
            assert _notes_of(legacy_view(vault.state(number)), wanted) == wanted
        folder, _ = copies.restored_here(number)
        assert {name: (folder / name).read_bytes() for name in wanted} == wanted
        for remote in REMOTES:
            assert copies.laptop.push(remote).state == "ok"
            folder, _ = copies.restored_from(remote, number)
            assert {name: (folder / name).read_bytes() for name in wanted} == wanted, remote
