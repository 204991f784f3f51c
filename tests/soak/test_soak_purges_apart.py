"""Two machines purge different passages of the same bytes, and did not know of each other: what nobody purged stays, on
both of them and at every second copy, whichever was told first."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from lifeboat_alf.common import json_codec
from lifeboat_alf.redaction.redactions import Redactions
from lifeboat_core.purge import purge_run, receipt_signing
from lifeboat_core.purge.purge_run import PurgeResult
from lifeboat_core.remotes import pulling
from lifeboat_core.remotes.remote_kinds import open_remote
from support.core.machines import Machine
from support.core.purged import contents, everything, owner_token, purge, request, vaults_of
from support.endpoint.endpoint_servers import RunningEndpoint, running_endpoint

RED, BLUE = "471108 of the red door", "220915 of the blue one"
NOTE = f"first\nIt is {RED}, {BLUE}, and a green one.\nlast\n"
REMOTES = ("home", "stick")
History = dict[int, tuple[bytes, dict[str, bytes]]]


@pytest.fixture(scope="module")
def endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningEndpoint]:
    with running_endpoint(tmp_path_factory.mktemp("endpoint"), plain=True) as running:
        yield running


@pytest.fixture
def laptop(tmp_path: Path, endpoint: RunningEndpoint) -> Machine:
    """Both passages lie in a memory, a note and a document; the history goes on after them."""
    machine = Machine(tmp_path / "laptop")
    machine.add(name="ada")
    machine.add_remote("home", endpoint.url, token=endpoint.token)
    machine.add_remote("stick", (tmp_path / "stick").as_uri(), sealed=True)
    machine.write("MEMORY.md", f"{machine.read('MEMORY.md')}\n## Doors\n\nIt is {RED}, and {BLUE}.\n")
    machine.write("notes/doors.txt", NOTE)
    machine.write("data/doors.json", json.dumps({"red": RED, "blue": BLUE, "both": f"{RED}/{BLUE}", "stays": 7}))
    captured(machine)
    machine.write("notes/doors.txt", NOTE + "and one line more\n")
    captured(machine)
    machine.write("notes/other.txt", "nothing of it\n")
    captured(machine)
    return machine


def captured(machine: Machine) -> None:
    machine.capture()
    for name in REMOTES:
        assert machine.push(name).state == "ok"


@pytest.fixture
def desk(tmp_path: Path, laptop: Machine, endpoint: RunningEndpoint) -> Machine:
    """Where the agent lives now: the laptop has its old history."""
    machine = Machine(tmp_path / "desk")
    machine.learn_words_of(laptop)
    machine.add_remote("home", endpoint.url, token=endpoint.token)
    machine.add_remote("stick", (tmp_path / "stick").as_uri(), sealed=True)
    machine.bring_back(laptop.agent.id, tmp_path / "moved", take_over=laptop.context.keys().own_name)
    for name in REMOTES:
        assert machine.push(name).state == "ok"
    return machine


def purged(machine: Machine, text: str, monkeypatch: pytest.MonkeyPatch, **options: bool) -> PurgeResult:
    """No second copy answers."""
    with monkeypatch.context() as patch:
        patch.setattr(purge_run, "_told", lambda *_: [])
        return purge(machine, request(text=text, passage=True, **options))


def history(machine: Machine) -> History:
    with machine.context.vault(machine.agent.id) as vault:
        assert vault.verify(trusted=machine.context.keys().trusted).findings == []
        return everything(vault)


def there(machine: Machine, name: str) -> History:
    found = {}
    with contextlib.closing(open_remote(machine.context, machine.remote(name))) as remote:
        for row in remote.sequences(machine.agent.id):
            with pulling.open_remote_state(remote, machine.agent.id, row.number) as state:
                found[row.number] = (row.digest, contents(state))
    return found


def without(before: History) -> History:
    """All else, byte for byte. Marks of a record are of what it says."""

    def left(body: bytes) -> bytes:
        return body.replace(RED.encode(), b"").replace(BLUE.encode(), b"")

    return {
        number: (digest, {name: left(body) for name, body in held.items()}) for number, (digest, held) in before.items()
    }


def plain(found: History) -> History:
    """Records as what they say: their marks are others."""

    def said(body: bytes) -> bytes:
        if not body.startswith(b'{"id"'):
            return body
        return str(json_codec.decode_json(body).get("content")).encode()

    return {
        number: (digest, {name: said(body) for name, body in held.items()}) for number, (digest, held) in found.items()
    }


def redactions_of(machine: Machine) -> Redactions:
    with machine.context.vault(machine.agent.id) as vault:
        return vault.redactions


def same(found: History, expected: History) -> bool:
    """What is kept is what it was, with the digest that it had."""
    different = [
        (number, name, found[number][1].get(name), body)
        for number in found
        for name, body in expected[number][1].items()
        if found[number][1].get(name) != body
    ]
    assert different == []
    return all(digest == expected[number][0] for number, (digest, _) in found.items())


def says_what_it_joins(machine: Machine, asked: set[str]) -> None:
    """The machine that heard of the other one's purge signed what both leave, and has a receipt of it."""
    [joint] = [each.id for each in redactions_of(machine) if each.id not in asked]
    kept = receipt_signing.find_receipt(machine.context, joint)
    findings = receipt_signing.verify_receipt(machine.context, kept.to_json())
    assert [each for each in findings if each.level == receipt_signing.ReceiptLevel.WRONG] == []
    [note] = [each.message for each in kept.vaults if each.kind == receipt_signing.HOME]
    assert note.startswith("the purges ") and "affect the same bytes" in note
    assert all(each in note for each in asked)


@pytest.mark.parametrize("order", ["laptop", "desk"])
def test_all_else_stays_everywhere(
    laptop: Machine, desk: Machine, endpoint: RunningEndpoint, monkeypatch: pytest.MonkeyPatch, order: str
) -> None:
    before = {**history(laptop), **history(desk)}
    first, second = (laptop, desk) if order == "laptop" else (desk, laptop)
    asked = {purged(first, RED, monkeypatch).receipt, purged(second, BLUE, monkeypatch).receipt}
    for name in REMOTES:
        for machine in (first, second, first, second):
            machine.push(name)
    for machine in (laptop, desk):
        machine.clock.advance(hours=25)
    for done in redactions_of(first):
        purge_run._tell_one(first.context, first.known_agent, done, "home", {"home": owner_token(endpoint)})
    says_what_it_joins(second, asked)
    expected = plain(without(before))
    for found in (history(laptop), history(desk)):
        assert same(plain(found), expected)
    for name in REMOTES:
        found = there(desk, name)
        assert same(plain(found), expected)
    for vault in vaults_of(endpoint):
        if vault.agent_id == laptop.agent.id:
            assert vault.verify(trusted=laptop.context.keys().trusted).findings == []
            assert same(plain(everything(vault)), expected)
