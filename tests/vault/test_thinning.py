from __future__ import annotations

import itertools
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lifeboat_alf.states import merkle
from lifeboat_vault.bodies import body_encoding
from lifeboat_vault.vault import Draft, EntryPut, RecordPut, Retention, Vault
from support.vault.vaults import START, commit, content_of, create, edit, new_vault

FAR = START + timedelta(days=4000)
PATHS = ["raw/a.md", "raw/b.md", "raw/c.bin"]
LINES = "".join(f"- line {number}: the harbour was quiet that morning\n" for number in range(60))

WORDS = ["append", "insert", "remove", "meta", "back", "large", "record", "edit", "thin"]

edits = st.lists(
    st.tuples(st.sampled_from(WORDS), st.integers(0, 9)),
    min_size=1,
    max_size=40,
)


class Walk:
    """A vault that is edited and thinned at random, with the expected content of each sequence."""

    def __init__(self, folder: Path) -> None:
        self.vault = new_vault(folder)
        self.time = START
        self.bodies: dict[str, bytes] = {}
        self.memories: list[RecordPut] = []
        self.expected: dict[int, object] = {}

    def step(self, word: str, number: int) -> None:
        if word == "thin":
            self.vault.thin(Retention(), FAR)
            return
        self.time += timedelta(minutes=7 * number)
        made = commit(self.vault, self.draft(word, number), self.time)
        if made is not None:
            self.expected[made.number] = content_of(self.vault.state())

    def draft(self, word: str, number: int) -> Draft:
        path = PATHS[number % len(PATHS)]
        body = self.bodies.get(path, LINES.encode())
        if word == "record" or (word == "edit" and not self.memories):
            self.memories.append(create(f"memory {len(self.memories)} " + "x" * 300 * number))
            return Draft({}, [self.memories[-1]])
        if word == "edit":
            return Draft({}, [edit(self.memories[number % len(self.memories)], content=f"edited {self.time}")])
        if word == "remove":
            self.bodies.pop(path, None)
            return Draft({path: None})
        fresh = {
            "append": body + b"- one more line %d\n" % number,
            "insert": body[:100] + b"\n%d in between\n" % number + body[100:],
            "back": LINES.encode(),
            "large": merkle.merkle_root([body]) * 12_000 + bytes(number),
            "meta": body,
        }[word]
        self.bodies[path] = fresh
        return Draft({path: EntryPut({"private": True} if word == "meta" else {}, fresh)})

    def check(self) -> None:
        rows = self.vault.sequences()
        for row in rows:
            assert merkle.state_digest(self.vault.state(row.number)) == row.digest
            assert content_of(self.vault.state(row.number)) == self.expected[row.number]
        assert all(one.digest != two.digest for one, two in itertools.pairwise(rows))
        assert self.vault.verify(trusted=None).findings == []
        if self.expected:
            assert rows[-1].number == max(self.expected)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(edits)
def test_after_any_edits_and_thinnings_every_kept_sequence_is_what_it_was(steps: list[tuple[str, int]]) -> None:
    with TemporaryDirectory() as folder:
        walk = Walk(Path(folder))
        for word, number in steps:
            walk.step(word, number)
        walk.check()
        while walk.vault.thin(Retention(), FAR).dropped:
            pass
        walk.check()
        walk.vault.close()


def grow(vault: Vault, count: int) -> None:
    """Commit a note that grows a line a minute, stored as a chain of patches."""
    for number in range(count):
        body = LINES + "".join(f"- added {line}\n" for line in range(number))
        commit(vault, Draft({"raw/a.md": EntryPut({}, body.encode())}), START + timedelta(minutes=number))


def codings(vault: Vault) -> list[str]:
    rows = vault._metadata.rows("select coding from object order by id")
    return [coding for (coding,) in rows]


def test_a_note_that_grows_is_kept_as_patches_never_deeper_than_sixteen(vault: Vault) -> None:
    grow(vault, 40)
    assert codings(vault).count(body_encoding.PATCH) == 37
    deepest = vault._metadata.row("select max(depth) from object")
    assert deepest == (16,)
    assert all(row.bytes < 200 for row in vault.sequences()[1:16])


def test_what_rests_on_a_dropped_object_is_encoded_again(vault: Vault) -> None:
    grow(vault, 12)
    before = content_of(vault.state())
    report = vault.thin(Retention(), START + timedelta(days=30))
    assert report.dropped == [0] and report.objects_dropped == 1 and report.objects_reencoded == 1
    while vault.thin(Retention(), START + timedelta(days=30)).dropped:
        pass
    assert [row.number for row in vault.sequences()] == [11] and codings(vault) == [body_encoding.ZSTD]
    assert content_of(vault.state()) == before


def test_thinning_says_what_it_did_in_the_audit(vault: Vault) -> None:
    grow(vault, 30)
    report = vault.thin(Retention(), START + timedelta(days=30))
    last = list(vault.audit_rows())[-1]
    assert report.dropped == [0, 1, 2] and report.kept == 27
    assert (last.kind, last.subject, last.details["sequences"]) == ("thin", "0..2", [0, 1, 2])
    assert vault.check_audit() == []


def test_changes_between_kept_sequences_survive_thinning(vault: Vault) -> None:
    grow(vault, 30)
    commit(vault, Draft({"raw/b.md": EntryPut({}, b"b")}), START + timedelta(hours=1))
    vault.pin(3, "kept")
    vault.pin(25, "kept")
    before = [(item.path, item.body and item.body()) for item in vault.changes(3, 30).entries]
    while vault.thin(Retention(), START + timedelta(days=30)).dropped:
        pass
    assert [(item.path, item.body and item.body()) for item in vault.changes(3, 30).entries] == before
    assert [row.number for row in vault.sequences()] == [3, 25, 30]


def test_the_last_verified_sequence_stays(vault: Vault) -> None:
    grow(vault, 15)
    vault.mark_verified(4)
    while vault.thin(Retention(), START + timedelta(days=30)).dropped:
        pass
    assert [row.number for row in vault.sequences()] == [4, 14] and vault.last_verified() == 4


def test_large_bodies_go_from_the_disk_with_their_last_sequence(vault: Vault, tmp_path: Path) -> None:
    folder = tmp_path / "vault" / "objects"
    for number in range(3):
        noise = b"".join(merkle.merkle_root([b"%d %d" % (number, part)]) for part in range(12_000))
        commit(vault, Draft({"raw/c.bin": EntryPut({}, noise)}), START + timedelta(minutes=number))
    assert len(list(folder.iterdir())) == 3
    before = vault.size()
    report = vault.thin(Retention(), START + timedelta(days=30))
    assert len(list(folder.iterdir())) == 2 and report.bytes_freed == before - vault.size() > 300_000
