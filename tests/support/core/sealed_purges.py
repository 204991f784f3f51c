"""A secret in the history of an agent that lies in a sealed log, its purge, and what is left of it in the folder."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta

import pytest

from lifeboat_alf.archive import archive_layout
from lifeboat_alf.common import ids, json_codec
from lifeboat_alf.redaction.redactions import ByteEdit, LeafReplacement, Redaction, replacement_of
from lifeboat_alf.snapshot import SnapshotReader
from lifeboat_alf.states import merkle
from lifeboat_alf.testing.sample_states import AGENT_ID, first_day, make_head
from lifeboat_keys.errors import KeyLocked
from lifeboat_keys.home.home_keys import HomeKeys
from lifeboat_keys.signed import redaction_signatures, sequence_signatures
from lifeboat_vault.vault import Draft, EntryPut, RecordPut, Retention
from support.adapters.canaries import HEAD, TAIL
from support.adapters.canary_scan import Scanner
from support.core.sealed_logs import CONTENT, SOUL, Machine
from support.vault.vaults import QUARTER, content_of, create

SECRET = f"{HEAD}thepassportnumber{TAIL}"
NOTE = "raw/openclaw/NOTE.md"
RECORD = create(f"The passport is {SECRET}.")
CUT = f"the passport is {SECRET}, remember\n".encode()


def capture(machine: Machine, entries: dict[str, bytes], records: Sequence[RecordPut] = ()) -> int:
    keys = machine.context.keys()
    puts = {path: EntryPut({}, body) for path, body in entries.items()}
    with machine.vault() as vault:
        made = vault.commit(
            Draft(puts, list(records), purges=len(vault.redactions)),
            kind="capture",
            writer=keys.device.id,
            time=machine.context.clock.now(),
            sign=lambda sequence: sequence_signatures.sign_sequence(sequence, keys.device),
        )
    assert made is not None
    return made.number


def remember(machine: Machine) -> list[int]:
    """A history of six states that are all pushed: the secret comes with the second, as a record and in a note that
    grows, and is cut out of the note by its user in the fifth."""
    listed = [{"file": QUARTER, "from": first_day(QUARTER), "to": None, "sealed": False}]
    capture(
        machine,
        {archive_layout.MANIFEST: json_codec.encode_pretty(make_head(AGENT_ID, partitions=listed)), SOUL: CONTENT},
    )
    log = machine.log()
    numbers = [machine.push(log)]
    bodies = [CUT, b"one more\n" * 40 + CUT, b"one more\n" * 50 + CUT, b"one more\n" * 60, b"the end\n" * 3]
    for count, body in enumerate(bodies):
        capture(machine, {NOTE: body, SOUL: CONTENT + b"x" * count}, [RECORD] if count == 0 else [])
        numbers.append(machine.push(log))
    return numbers


def cut(machine: Machine) -> Redaction:
    """The purge of the secret: the record is gone, of the note the line."""
    leaves: dict[bytes, LeafReplacement | None] = {}
    with machine.vault() as vault:
        for item in vault.history():
            body = vault.read_object(item.object)
            at = body.find(CUT) if item.path else body.find(SECRET.encode())
            if at >= 0:
                edits = [ByteEdit(at, len(CUT))]
                leaves[item.leaf.digest] = None if item.record_id else replacement_of(body, edits)
    return made(machine, leaves, "record_purge")


def made(machine: Machine, leaves: dict[bytes, LeafReplacement | None], scope: str) -> Redaction:
    now = machine.context.now()
    place = (ids.make_id(now), AGENT_ID, scope, "user_request", now, "cli")
    return redaction_signatures.sign_redaction(
        Redaction(*place, record_ids=(RECORD.id,), leaves=leaves), machine.context.keys().device
    )


def purge_here(machine: Machine, redaction: Redaction) -> None:
    with machine.vault() as vault:
        assert vault.redact(redaction).fresh


def purge(machine: Machine) -> Redaction:
    redaction = cut(machine)
    purge_here(machine, redaction)
    machine.log().redact(AGENT_ID, redaction.to_json())
    return redaction


def files(machine: Machine) -> Iterator[tuple[str, bytes]]:
    """Every file of the folder, as it is and as the user's key opens it."""
    shelf = machine.log()._shelf
    for path in sorted(machine.stick.rglob("*")):
        if path.is_file():
            yield path.name, path.read_bytes()
            if path.suffix == ".age":
                with path.open("rb") as source, shelf.opened(path.name, source) as content:
                    yield f"{path.name}, decrypted", content.read()


def leaks(machine: Machine) -> list[object]:
    scanner = Scanner.of([])
    return [leak for name, data in files(machine) for leak in scanner.data(data, name)]


def expect_whole(machine: Machine, numbers: list[int]) -> None:
    """Every state restores from the log to its digest, as the vault has it."""
    log = machine.log()
    assert [each.number for each in log.sequences(AGENT_ID)] == numbers
    for number in numbers:
        bundle = log.snapshot(AGENT_ID, number)
        with bundle.file, SnapshotReader(bundle.file) as reader, machine.vault() as vault:
            reader.check()
            assert merkle.state_digest(reader) == reader.sequence.digest == vault.state(number).sequence.digest
            assert content_of(reader)[0].keys() == content_of(vault.state(number))[0].keys()
            assert {path: body for path, (_, body) in content_of(reader)[0].items()} == {
                path: body for path, (_, body) in content_of(vault.state(number))[0].items()
            }
            assert content_of(reader)[1] == content_of(vault.state(number))[1]


def thin(machine: Machine, numbers: list[int]) -> None:
    later = machine.context.clock.now() + timedelta(days=40)
    with machine.vault() as vault:
        while any(row.number in numbers for row in vault.sequences()):
            assert vault.thin(Retention(0, 0, 0), later, keep=lambda number: number not in numbers).dropped


def lock(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    def locked(_: HomeKeys) -> None:
        raise KeyLocked("the key is locked")

    monkeypatch.setattr(HomeKeys, "user_key", locked)
