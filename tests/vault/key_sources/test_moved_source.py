"""The database records where a key was moved; a writer of the database cannot name its own key source."""

from __future__ import annotations

import base64
import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from lifeboat_vault.at_rest import moved_key_source
from lifeboat_vault.at_rest.key_sources import key_service, key_source_registry
from lifeboat_vault.at_rest.key_sources.key_source_contract import KeySource
from lifeboat_vault.errors import KeySourceAway, KeySourceRefused
from support.vault.fake_transit import FakeKey, FakeTransit, fake_transit

Specs = Callable[[str], str]


@pytest.fixture
def transit(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeTransit]:
    with fake_transit(monkeypatch) as made:
        monkeypatch.setattr(key_service, "REFUSED_SECONDS", 0.0)
        yield made


@pytest.fixture(params=["file", "transit"])
def spec_of(request: pytest.FixtureRequest, transit: FakeTransit, tmp_path: Path) -> Specs:
    """Return the specification of a source by a name; it has a key."""

    def made(name: str) -> str:
        if request.param == "transit":
            transit.keys[name] = FakeKey()
            return transit.spec(name)
        key_source_registry.make_key(f"file:{tmp_path / name}.key", outside=tmp_path / "data")
        return f"file:{tmp_path / name}.key"

    return made


def opened(spec: str) -> KeySource:
    return key_source_registry.open_key_source(spec, outside=Path("/srv/lifeboat"))


def noted(*specs: str) -> Any:
    """Return the note after some moves."""
    note = None
    for before, after in itertools.pairwise(specs):
        note = moved_key_source.note_move(note, opened(before), after)
    return note


def forged(note: Any, spec: str) -> Any:
    """Return a note whose last step leads elsewhere, with a valid checksum."""
    *steps, last = note["steps"]
    return {"source": spec, "steps": [*steps, {**last, "after": spec}]}


def test_every_machine_follows_from_the_source_that_it_was_given(spec_of: Specs) -> None:
    specs = [spec_of(name) for name in ("one", "two", "three")]
    note = noted(*specs)
    assert [moved_key_source.follow_moves(note, begin, opened) for begin in specs] == [specs[2]] * 3
    assert moved_key_source.follow_moves(None, specs[0], opened) == specs[0]


def test_a_key_that_came_back_is_followed_from_where_it_is(spec_of: Specs) -> None:
    one, two = spec_of("one"), spec_of("two")
    note = noted(one, two, one, two)
    assert moved_key_source.follow_moves(note, one, opened) == two == moved_key_source.follow_moves(note, two, opened)


def test_who_can_write_to_the_database_names_no_source(spec_of: Specs) -> None:
    one, two = spec_of("one"), spec_of("two")
    theirs = "transit:https://theirs.example.com/transit/keys/theirs"
    proof = base64.b64encode(opened(two).wrap(b"lifeboat key source " + theirs.encode())).decode()
    for note in (
        forged(noted(one, two), theirs),
        {"source": theirs, "steps": []},
        {"source": theirs, "steps": [{"before": one, "after": theirs, "proof": ""}]},
        {"source": theirs, "steps": [{"before": one, "after": theirs, "proof": proof}]},
        {**noted(one, two), "source": theirs},
        theirs,
        ["nonsense"],
    ):
        with pytest.raises(KeySourceRefused, match="no signature with the former key confirms the change"):
            moved_key_source.follow_moves(note, one, opened)


def test_a_former_source_that_is_gone_is_believed_to_have_said_so(transit: FakeTransit) -> None:
    transit.keys["two"] = FakeKey()
    one, two = transit.spec(), transit.spec("two")
    note = noted(one, two)
    del transit.keys["customer"]
    assert moved_key_source.follow_moves(note, one, opened) == two


def test_while_a_former_source_is_away_nothing_is_believed(transit: FakeTransit) -> None:
    transit.keys["two"] = FakeKey()
    one, two = transit.spec(), transit.spec("two")
    note = noted(one, two)
    transit.fails = 503
    with pytest.raises(KeySourceAway):
        moved_key_source.follow_moves(note, one, opened)
    assert moved_key_source.follow_moves(note, two, opened) == two


def test_what_no_former_source_can_vouch_for_is_said_on_each_machine(transit: FakeTransit) -> None:
    transit.keys["two"] = FakeKey()
    one, two = transit.spec(), transit.spec("two")
    transit.denied.add("encrypt")
    note = noted(one, two)
    with pytest.raises(KeySourceRefused):
        moved_key_source.follow_moves(note, one, opened)
    assert moved_key_source.follow_moves(note, two, opened) == two
