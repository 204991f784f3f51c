"""A file changes and changes back between two pushes: the remote gets two equal states in a row."""

from __future__ import annotations

import pytest

from support.oracle.copies import REMOTES, Copies, make_copies
from support.prepared_folders import PreparedFolders


@pytest.fixture
def copies(prepared_folders: PreparedFolders, monkeypatch: pytest.MonkeyPatch) -> Copies:
    made = prepared_folders.restore("an agent with every remote", make_copies)
    made.install(monkeypatch)
    return made


@pytest.fixture(params=REMOTES)
def remote(copies: Copies, request: pytest.FixtureRequest) -> str:
    """A remote that has sequence 0; the head is sequence 2, whose state is that of sequence 0."""
    name: str = request.param
    assert copies.laptop.push(name).state == "ok"
    copies.laptop.write("film.bin", b"abc")
    copies.laptop.capture()
    (copies.laptop.workspace / "film.bin").unlink()
    copies.laptop.capture()
    return name


def test_a_remote_takes_a_state_that_equals_the_one_it_has(copies: Copies, remote: str) -> None:
    outcome = copies.laptop.push(remote)
    assert (outcome.state, outcome.sequence) == ("ok", 2)
    assert copies.kept_at(remote) == [0, 2]
    assert copies.is_verified(remote)


def test_a_history_with_equal_states_comes_to_a_new_machine(copies: Copies, remote: str) -> None:
    copies.laptop.push(remote)
    copies.laptop.write("film.bin", b"def")
    copies.laptop.capture()
    copies.laptop.push(remote)
    copies.history_of(remote)
