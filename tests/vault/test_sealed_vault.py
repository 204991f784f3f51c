"""A sealed vault equals the plain one for a holder of its key and reveals nothing to anyone else."""

from __future__ import annotations

import hashlib
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from lifeboat_alf.common import json_codec
from lifeboat_alf.states import merkle
from lifeboat_alf.states.agent_state import StateChanges
from lifeboat_alf.testing.sample_states import AGENT_ID
from lifeboat_vault.at_rest.sealer import PLAIN, Sealer
from lifeboat_vault.errors import DraftInvalid, KeyRevoked, OtherDataKey, VaultDamaged
from lifeboat_vault.testing.store_conformance import a_day, time_of_day
from lifeboat_vault.vault import Draft, EntryPut, RecordPut, Retention, SequenceRow, Vault, draft_of_state
from lifeboat_vault.vault.open_vault import FILE
from support.endpoint.sealed import AGENT, OTHER_AGENT, MovingClock, data_keys, new_sealer, opened_keys
from support.vault.vaults import QUARTER, ManualClock, commit, content_of, create, edit

NIGHT = "The keeper's password is marmalade-on-toast."
ARTIFACT = {"attachment": {"tier": 3}}


def new_vault(folder: Path, sealer: Sealer) -> Vault:
    return Vault.create(folder, AGENT_ID, clock=ManualClock(), sealer=sealer)


def history() -> list[Draft]:
    """Return six days with every kind of change to entries and records."""
    night = create(NIGHT, tags=["lighthouse"])
    second = create("a second memory", namespace="lamps")
    early = create("an early memory")
    early = early._replace(partition="memory/partitions/2026-Q1.jsonl")
    return [
        a_day(1),
        Draft({"raw/keeper.md": EntryPut({"mode": "keeper-only"}, b"# Keeper\nfog horn"), "a/b": EntryPut({}, b"")}),
        Draft({}, [night, second, early]),
        Draft(
            {"a/b": None, "artifacts/chart.bin": EntryPut(ARTIFACT, b"chart" * 90_000)}, [edit(second, tags=["new"])]
        ),
        Draft({"artifacts/chart.bin": EntryPut(ARTIFACT, b"map" * 90_000)}, [edit(night, "delete", status="deleted")]),
        Draft({"raw/keeper.md": EntryPut({"mode": "everybody"}), "raw/copy.md": EntryPut({}, b"# Keeper\nfog horn")}),
    ]


def lived(vault: Vault, drafts: list[Draft]) -> list[SequenceRow]:
    made = [commit(vault, draft, time_of_day(day)) for day, draft in enumerate(drafts)]
    return [row for row in made if row is not None]


SEALER = new_sealer()


@pytest.fixture(scope="module")
def origin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a plain and a sealed vault with the same history, a label and a decision."""
    folder, drafts = tmp_path_factory.mktemp("origin"), history()
    for name, sealer in (("plain", PLAIN), ("sealed", SEALER)):
        with new_vault(folder / name, sealer) as vault:
            assert len(lived(vault, drafts)) == len(drafts)
            vault.label(2, "before the storm")
            vault.set("held", {"since": 2})
    return folder


@pytest.fixture
def twins(origin: Path, tmp_path: Path) -> Iterator[tuple[Vault, Vault]]:
    """Yield (plain, sealed), copies for one test."""
    shutil.copytree(origin, tmp_path, dirs_exist_ok=True)
    with (
        Vault.open(tmp_path / "plain", clock=ManualClock()) as plain,
        Vault.open(tmp_path / "sealed", clock=ManualClock(), sealer=SEALER) as hidden,
    ):
        yield plain, hidden


# The same vault -----------------------------------------------------------------------------------------------------


def test_every_state_is_that_of_the_plain_vault(twins: tuple[Vault, Vault]) -> None:
    plain, hidden = ([content_of(vault.state(row.number)) for row in vault.sequences()] for vault in twins)
    assert plain == hidden


def test_every_delta_is_that_of_the_plain_vault(twins: tuple[Vault, Vault]) -> None:
    numbers = [row.number for row in twins[0].sequences()]
    pairs = [(base, new) for base in numbers for new in numbers if base != new]
    plain, hidden = ([said(vault.changes(*pair)) for pair in pairs] for vault in twins)
    assert plain == hidden


def said(changes: StateChanges) -> object:
    entries = [
        (each.path, each.entry and (each.entry.meta, each.entry.sha256), each.body and each.body(), each.base is None)
        for each in changes.entries
    ]
    return entries, [(each.operation, *each.record[:3], each.record.line) for each in changes.records], changes.removed


QUESTIONS: dict[str, Callable[[Vault], object]] = {
    "entries in order": lambda vault: [(entry.path, entry.meta, entry.sha256) for entry in vault.state().entries()],
    "entries below a path": lambda vault: [entry.path for entry in vault.state().entries("raw/")],
    "entries from part of a name": lambda vault: [entry.path for entry in vault.state().entries("raw/ke")],
    "no entries": lambda vault: [entry.path for entry in vault.state().entries("raw/x")],
    "one entry": lambda vault: vault.state().entry("raw/keeper.md")[1:2] if vault.state().entry("raw/keeper.md") else 0,
    "an entry that is not there": lambda vault: vault.state().entry("a/b"),
    "records in order": lambda vault: [record[:3] for record in vault.state().records()],
    "records of a partition": lambda vault: [record.line for record in vault.state().records(QUARTER)],
    "records of no partition": lambda vault: list(vault.state().records("memory/partitions/1999-Q1.jsonl")),
    "records with a content": lambda vault: vault.records_with_content("a second memory"),
    "records with no such content": lambda vault: vault.records_with_content("a third memory"),
    "old versions": lambda vault: vault.old_versions(1, None),
    "counts": lambda vault: [(row.counts, row.kind, row.writer, row.time) for row in vault.sequences()],
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_every_question_has_the_answer_of_the_plain_vault(twins: tuple[Vault, Vault], question: str) -> None:
    plain, hidden = (QUESTIONS[question](vault) for vault in twins)
    assert plain == hidden


ODD = [
    "a",
    "A",
    "a/b",
    "a.b",
    "a b",
    "\u00e9",
    "e\u0301",
    "z",
    "\uffff",
    "\U00010000",
    "\U0010ffff/x",
    "n" * 300,
    "raw/%2F",
]


@pytest.mark.parametrize("prefix", ["", "a", "a/", "\u00e9", "\U0010ffff", "\ud7ff", "nn"])
def test_odd_paths_have_the_order_of_the_plain_vault(tmp_path: Path, prefix: str) -> None:
    found = []
    for name, sealer in (("plain", PLAIN), ("sealed", SEALER)):
        with new_vault(tmp_path / name, sealer) as vault:
            commit(vault, Draft({path: EntryPut({}, path.encode()) for path in ODD}))
            found.append([(entry.path, vault.state().body(entry.path)) for entry in vault.state().entries(prefix)])
    assert found[0] == found[1]


def test_a_sealed_vault_verifies_and_its_digests_are_those_of_its_states(twins: tuple[Vault, Vault]) -> None:
    _, hidden = twins
    assert hidden.verify(trusted=None).findings == [] and hidden.check_audit() == []
    assert all(merkle.state_digest(hidden.state(row.number)) == row.digest for row in hidden.sequences())


def test_a_state_keeps_its_digest_when_it_is_taken_over(twins: tuple[Vault, Vault], tmp_path: Path) -> None:
    plain, _ = twins
    head = plain.head()
    assert head is not None
    with new_vault(tmp_path / "other", new_sealer()) as other:
        made = other.accept(
            head.as_sequence(AGENT_ID), draft_of_state(plain.state()), kind="push", writer="laptop", raw_time=head.time
        )
        assert made.digest == head.digest and content_of(other.state()) == content_of(plain.state())


def test_labels_and_decisions_come_back(twins: tuple[Vault, Vault]) -> None:
    _, hidden = twins
    assert hidden.sequence(2).label == hidden.sequences()[2].label == "before the storm"
    assert hidden.get("held") == {"since": 2} and hidden.sequence(1).label is None


def test_thinning_lets_go_of_the_same_sequences(twins: tuple[Vault, Vault]) -> None:
    later = time_of_day(900)
    plain, hidden = (vault.thin(Retention(), later) for vault in twins)
    assert plain.dropped == hidden.dropped != [] and twins[1].verify(trusted=None).findings == []


def test_old_versions_of_large_files_go(twins: tuple[Vault, Vault]) -> None:
    _, hidden = twins
    assert hidden.drop_old_versions(1, None).objects_dropped == 1 and hidden.verify(trusted=None).findings == []


def test_content_that_came_back_is_kept_once(twins: tuple[Vault, Vault]) -> None:
    plain, hidden = (vault._metadata.row("select count(*) from object") for vault in twins)
    assert plain == hidden


def test_a_record_in_another_partition_is_refused_by_its_name(twins: tuple[Vault, Vault]) -> None:
    record = next(twins[1].state().records(QUARTER))
    moved = RecordPut("update", record.id, "memory/partitions/2027-Q1.jsonl", record.line)
    with pytest.raises(DraftInvalid, match=r"2026-Q4\.jsonl, not to .*2027-Q1"):
        commit(twins[1], Draft({}, [moved]), time_of_day(9))


# What others see ----------------------------------------------------------------------------------------------------


def bytes_of(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def secrets_of(vault: Vault) -> dict[str, list[bytes]]:
    """Return what must not occur in any file, by kind."""
    states = [vault.state(row.number) for row in vault.sequences()]
    entries = [entry for state in states for entry in state.entries()]
    lines = {record.line for state in states for record in state.records()}
    bodies = {state.body(entry.path) for state in states for entry in state.entries()}
    digests = [hashlib.sha256(body).digest() for body in bodies | lines]
    hashes = merkle.empty_buckets()[:1]
    return {
        "paths": [entry.path.encode() for entry in entries if len(entry.path) > 3] + [b"keeper", b"artifacts"],
        "partitions": [record.partition.encode() for state in states for record in state.records()] + [b"2026-Q4"],
        "content": [b"marmalade", b"fog horn", b"chartchart", b"lighthouse", b"second memory", b"lamps"],
        "lines": [line[:40] for line in lines],
        "metas": [
            b"keeper-only",
            b"everybody",
            b'"tier"',
            *(json_codec.encode_json(e.meta) for e in entries if e.meta),
        ],
        "digests": digests + [digest.hex().encode() for digest in digests],
        "salts": [entry.leaf.salt for entry in entries] + [r.leaf.salt for s in states for r in s.records()],
        "seed": [vault.seed, vault.seed.hex().encode()],
        "hashes of buckets": hashes,
        "labels and decisions": [b"before the storm", b"since"],
    }


@pytest.mark.parametrize("when", ["open", "closed"])
def test_nothing_in_the_files_speaks_of_the_content(twins: tuple[Vault, Vault], tmp_path: Path, when: str) -> None:
    _, hidden = twins
    hidden.set("drill", {"since": 1})
    secrets = secrets_of(hidden)
    if when == "closed":
        hidden.close()
    files = bytes_of(tmp_path / "sealed")
    assert f"{FILE}-wal" in files or when == "closed"
    found = {(what, name) for what in secrets for name in files if any(one in files[name] for one in secrets[what])}
    assert found == set()


def test_the_scan_finds_everything_in_a_plain_vault(twins: tuple[Vault, Vault], tmp_path: Path) -> None:
    plain, _ = twins
    data = b"".join(bytes_of(tmp_path / "plain").values())
    assert {what for what, each in secrets_of(plain).items() if not any(one in data for one in each)} == set()


def test_the_same_vault_is_different_bytes_under_another_key(twins: tuple[Vault, Vault], tmp_path: Path) -> None:
    _, hidden = twins
    paths = {path for (path,) in hidden._metadata.rows("select path from entry")}
    with new_vault(tmp_path / "other", new_sealer()) as other:
        lived(other, history())
        assert paths.isdisjoint(path for (path,) in other._metadata.rows("select path from entry"))


def test_buckets_of_entries_do_not_confirm_a_path(twins: tuple[Vault, Vault]) -> None:
    """Ten bits of a path's hash would be enough to confirm a guess."""
    plain, hidden = (
        sorted(bucket for (bucket,) in vault._metadata.rows("select distinct bucket from entry")) for vault in twins
    )
    assert len(plain) == len(hidden) and plain != hidden


# Wrong keys ---------------------------------------------------------------------------------------------------------


def test_another_key_is_told_as_such(twins: tuple[Vault, Vault], tmp_path: Path) -> None:
    twins[1].close()
    for other in (new_sealer(), PLAIN):
        with pytest.raises(OtherDataKey) as caught:
            Vault.open(tmp_path / "sealed", sealer=other)
        assert caught.value.key_id == SEALER.key_id


def test_a_plain_vault_does_not_open_as_a_sealed_one(twins: tuple[Vault, Vault], tmp_path: Path) -> None:
    twins[0].close()
    with pytest.raises(VaultDamaged):
        Vault.open(tmp_path / "plain", sealer=new_sealer())


def test_the_key_of_another_agent_does_not_open_it(tmp_path: Path) -> None:
    keys = data_keys(tmp_path)
    new_vault(tmp_path / "vault", keys.sealer(AGENT)).close()
    with pytest.raises(VaultDamaged):
        Vault.open(tmp_path / "vault", sealer=keys.sealer(OTHER_AGENT))
    Vault.open(tmp_path / "vault", sealer=opened_keys(tmp_path).sealer(AGENT)).close()


def test_an_open_vault_says_nothing_once_its_key_was_taken_away(tmp_path: Path) -> None:
    clock = MovingClock()
    vault = new_vault(tmp_path / "vault", data_keys(tmp_path, clock=clock).sealer(AGENT))
    lived(vault, history()[:3])
    state = vault.state()
    (tmp_path / "endpoint.key").unlink()
    clock.advance(minutes=1)
    reads: list[Callable[[], object]] = [
        vault.head,
        vault.sequences,
        lambda: vault.state(0),
        lambda: list(state.entries()),
        lambda: list(state.records()),
        lambda: state.body("raw/note.md"),
        lambda: vault.changes(0, 1),
        lambda: vault.get("held"),
        lambda: commit(vault, Draft({"raw/new.md": EntryPut({}, b"new")}), time_of_day(9)),
    ]
    for read in reads:
        with pytest.raises(KeyRevoked):
            read()


@pytest.mark.parametrize("column", ["path", "meta"])
def test_a_row_that_was_exchanged_is_found(twins: tuple[Vault, Vault], column: str) -> None:
    _, hidden = twins
    other = new_sealer().token("path", "raw/keeper.md") if column == "path" else "AAAA"
    hidden._metadata.execute(f"update entry set {column} = ? where first = 4", (other,))
    assert {finding.kind for finding in hidden.verify(trusted=None).findings} >= {"database"}


def test_a_changed_body_is_found(twins: tuple[Vault, Vault]) -> None:
    _, hidden = twins
    hidden._metadata.execute("update object set body = (select body from object where id = 2) where id = 1")
    assert {finding.kind for finding in hidden.verify(trusted=None).findings} == {"body"}


# Memory -------------------------------------------------------------------------------------------------------------


class Counting:
    """A sealer that counts what is opened, by kind."""

    def __init__(self) -> None:
        self.inner = new_sealer()
        self.key_id = self.inner.key_id
        self.opened: Counter[str] = Counter()

    def seal(self, kind: str, data: bytes) -> bytes:
        return self.inner.seal(kind, data)

    def open(self, kind: str, sealed: bytes) -> bytes:
        self.opened[kind] += 1
        return self.inner.open(kind, sealed)

    def token(self, kind: str, text: str) -> str:
        return self.inner.token(kind, text)

    def text(self, kind: str, token: str) -> str:
        self.opened[kind] += 1
        return self.inner.text(kind, token)


def test_records_stay_a_stream(tmp_path: Path) -> None:
    counting = Counting()
    with new_vault(tmp_path / "vault", counting) as vault:
        commit(vault, Draft({}, [create(f"memory {number}") for number in range(300)]))
        records = vault.state().records()
        counting.opened.clear()
        next(records)
        assert counting.opened["body"] == counting.opened["salt"] == 1


def test_what_is_looked_up_opens_nothing_else(tmp_path: Path) -> None:
    counting = Counting()
    with new_vault(tmp_path / "vault", counting) as vault:
        commit(vault, Draft({f"raw/{number}.md": EntryPut({}, b"%d" % number) for number in range(100)}))
        state = vault.state()
        counting.opened.clear()
        assert state.body("raw/50.md") == b"50" and counting.opened == {"body": 1}


def test_where_bytes_and_lines_stood_is_told_alike(twins: tuple[Vault, Vault]) -> None:
    plain, hidden = twins

    def files(vault: Vault) -> list[tuple[object, ...]]:
        stays = vault.stays_of_entries('"mode":"keeper-only"')
        return sorted((one.path, one.first, one.last or 0, one.size, one.is_marked) for one in stays)

    def lines(vault: Vault) -> list[tuple[object, ...]]:
        return sorted((line, first, last or 0) for _, line, first, last in vault.stays_of_records())

    assert files(plain) == files(hidden) and lines(plain) == lines(hidden)
    assert [one for one in files(plain) if one[-1]] == [("raw/keeper.md", 1, 5, 17, True)]
    for record_id in {record.id for record in plain.state().records()}:
        assert list(plain.stays_of_record(record_id)) == list(hidden.stays_of_record(record_id)) != []


def test_the_kept_ends_of_a_span_are_told_alike(twins: tuple[Vault, Vault]) -> None:
    for vault in twins:
        assert vault.kept_within(1, 4) == (1, 3) and vault.kept_within(2, None) == (2, 5)
        assert vault.kept_within(6, None) is None and vault.kept_within(3, 3) is None
