"""Snapshots of agents with purged content."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lifeboat_alf.archive import archive_layout
from lifeboat_alf.archive.leaf_rows import pack_leaf_row
from lifeboat_alf.common import json_codec
from lifeboat_alf.errors import BadDocument, SignatureError
from lifeboat_alf.redaction.redactions import replacement_of
from lifeboat_alf.snapshot import SnapshotReader, write_snapshot
from lifeboat_alf.states import merkle
from lifeboat_alf.states.agent_state import Leaf
from lifeboat_alf.testing import sample_states
from lifeboat_alf.testing.sample_states import MemoryState, make_full_state
from lifeboat_alf.validation.validate_file import validate_archive
from support.alf import archive_files
from support.alf.archive_files import ArchiveFile
from support.alf.random_states import Script, archive, assert_same, cut, redaction, redactions_of

PIN = "The door opens with 492817."
NOTE = "raw/openclaw/memory/notes.md"
ENV = "raw/openclaw/.env.door"


@given(st.data())
@settings(max_examples=40)
def test_a_purged_state_comes_back_with_the_digest_it_had_before(data):
    state = Script(data.draw).run(MemoryState())
    digest = state.sequence.digest
    state.redact(data.draw(redactions_of(state)))
    with SnapshotReader(io.BytesIO(archive(state))) as found:
        found.check()
        assert merkle.state_digest(found) == digest
        assert_same(found, state)


class Purged:
    """An agent with a PIN in a memory, in the note it came from and in an artifact. The memory before it is replaced by
    a tombstone; `purge` removes the PIN."""

    def __init__(self):
        state = make_full_state()
        self.first = state.add(sample_states.make_record("Likes the sea."))
        self.pin = state.add(sample_states.make_record(PIN))
        self.last = state.add(sample_states.make_record("Sings."))
        listed = [self.first.id, self.pin.id, self.last.id]
        state.put(NOTE, f"Likes the sea.\n{PIN}\nSings.\n".encode(), records=listed)
        state.put(ENV, b"PIN=492817\nKEY=\n", cuts=[{"offset": 15, "credential_id": sample_states.AGENT_ID}])
        state.put_artifact("door.csv", b"code,492817\n", referenced_by=[self.pin.id], media_type="text/csv")
        self.before = state.copy(41)
        self.state = self.before.copy(41).redact(self.purge())

    def purge(self):
        """Return a redaction under fresh salts."""
        bodies = {path: self.before.body(path) for path in (NOTE, ENV, "artifacts/door.csv")}
        leaves = {self.before.entry(path).leaf.digest: _without_pin(body) for path, body in bodies.items()}
        tombstone = json_codec.encode_json(
            {**json_codec.decode_json(self.first.line), "content": "[deleted]", "status": "deleted"}
        )
        leaves[self.first.leaf.digest] = cut(self.first.line, 0, len(self.first.line), tombstone)
        leaves[self.pin.leaf.digest] = None
        return redaction(leaves, record_ids=(self.pin.id,))


def _without_pin(body):
    match = PIN.encode() + b"\n" if PIN.encode() in body else b"492817"
    start = body.index(match)
    return cut(body, start, start + len(match))


@pytest.fixture
def purged():
    return Purged()


@pytest.fixture
def path(purged, tmp_path):
    """Return the purged agent's archive."""
    made = tmp_path / "ada.alf"
    made.write_bytes(archive(purged.state))
    return made


def edited(path: Path, change) -> Path:
    """Return the archive with another `lifeboat/redactions.json` and a matching manifest."""
    document = ArchiveFile(path).json(archive_layout.REDACTIONS)
    change(document)
    return changed(path, **{archive_layout.REDACTIONS: json_codec.encode_json(document)})


def changed(path: Path, **bodies) -> Path:
    return archive_files.edit(path, path.with_name("edited.alf"), bodies)


def checked(path: Path) -> None:
    with SnapshotReader(path) as reader:
        reader.check()


# What an archive holds ------------------------------------------------------------------------------------------


def test_nothing_of_what_was_purged_is_in_any_entry(path):
    held = ArchiveFile(path).bodies
    assert not [name for name, body in held.items() if b"492817" in body]


def test_the_id_of_a_gone_record_stands_beside_the_redactions_alone(path, purged):
    held = ArchiveFile(path).bodies
    assert [name for name, body in held.items() if purged.pin.id.encode() in body] == [archive_layout.REDACTIONS]


def test_lines_skip_the_place_of_a_gone_record(path, purged):
    with SnapshotReader(path) as reader:
        assert reader.record(purged.last.id).position == purged.last.position
        assert [gone.position for gone in reader.gone()] == [purged.pin.position]


def test_documents_show_what_metas_read_now_and_states_what_digests_cover(path, purged):
    files = ArchiveFile(path).json(archive_layout.MEMORY_INDEX)["files"]
    cuts = ArchiveFile(path).json(archive_layout.CUTS)
    assert files[NOTE] == [purged.first.id, purged.last.id]
    assert cuts[ENV][0]["offset"] == len("PIN=\nKEY=")
    with SnapshotReader(path) as reader:
        assert reader.entry(NOTE).meta == purged.before.entry(NOTE).meta
        assert reader.entry(ENV).meta == purged.before.entry(ENV).meta


def test_an_archive_of_an_archive_is_the_same(path):
    with SnapshotReader(path) as reader:
        assert archive(reader) == path.read_bytes()


def test_a_purged_archive_validates_strictly(path):
    found = validate_archive(path, strict=True)
    assert (found.errors, found.warnings) == ([], [])


def test_an_archive_without_a_purge_has_nothing_of_it(tmp_path):
    path = tmp_path / "ada.alf"
    path.write_bytes(archive(make_full_state()))
    assert archive_layout.REDACTIONS not in ArchiveFile(path).bodies


def test_a_purge_of_something_else_is_not_in_an_archive(tmp_path):
    path = tmp_path / "ada.alf"
    path.write_bytes(archive(make_full_state().redact(redaction({bytes(32): None}, record_ids=("another",)))))
    assert archive_layout.REDACTIONS not in ArchiveFile(path).bodies


def test_a_partition_of_which_every_record_is_gone_keeps_their_places():
    state = MemoryState()
    lines = [state.add(sample_states.make_record(PIN)), state.add(sample_states.make_record("More."))]
    state.redact(redaction({line.leaf.digest: None for line in lines}))
    with SnapshotReader(io.BytesIO(archive(state))) as reader:
        reader.check()
        assert [gone.id for gone in reader.gone()] == [line.id for line in lines]


def test_a_file_with_vectors_inside_its_records_says_nothing_of_purges(purged, tmp_path):
    path = tmp_path / "inline.alf"
    with path.open("wb") as out:
        write_snapshot(purged.state, out, embeddings_inline=True)
    assert archive_layout.REDACTIONS not in ArchiveFile(path).bodies
    assert ArchiveFile(path).json(archive_layout.MEMORY_INDEX)["files"][NOTE] == [purged.first.id, purged.last.id]
    checked(path)


def test_where_two_purges_contradict_each_other_both_travel(purged):
    body = purged.before.body(NOTE)
    leaf = purged.before.entry(NOTE).leaf.digest
    other = redaction({leaf: cut(body, 0, 5)}, id="019a0000-0000-7000-8000-0000000000d2")
    with SnapshotReader(io.BytesIO(archive(purged.state.redact(other)))) as reader:
        reader.check()
        assert (len(reader.redactions), reader.body(NOTE)) == (2, b"")


def test_bytes_that_no_redaction_vouches_for_are_never_written(purged):
    purged.state._bodies[NOTE] = b"Something else.\n"
    with pytest.raises(BadDocument, match="no salt"):
        archive(purged.state)


# Tampering ------------------------------------------------------------------------------------------------------


def test_a_change_of_replaced_bytes_is_seen(path):
    with pytest.raises(SignatureError, match=r"notes\.md was changed"):
        checked(changed(path, **{NOTE: b"Likes the city.\nSings.\n"}))


def test_a_change_of_a_tombstone_is_seen(path, purged):
    file = purged.first.partition
    lines = ArchiveFile(path).bodies[file].replace(b"[deleted]", b"[revived]")
    with pytest.raises(SignatureError, match=r"the hash of the record .* is missing"):
        checked(changed(path, **{file: lines}))


def test_redactions_that_are_not_there_are_missed(path):
    with pytest.raises(BadDocument, match="its hash has no salt"):
        checked(changed(path, **{archive_layout.REDACTIONS: None}))


def test_a_gone_record_without_a_redaction_is_refused(path):
    def emptied(document):
        document["redactions"] = []

    with pytest.raises(SignatureError, match="no purge removed it"):
        checked(edited(path, emptied))


def test_a_redaction_that_names_another_leaf_is_of_no_use(path, purged):
    def exchanged(document):
        leaves = document["redactions"][0]["leaves"]
        leaves["00" * 32] = leaves.pop(purged.first.leaf.digest.hex())

    with pytest.raises(SignatureError, match=r"the hash of the record .* is missing"):
        checked(edited(path, exchanged))


def test_a_redaction_that_names_other_bytes_is_of_no_use(path, purged):
    def exchanged(document):
        made = replacement_of(b"Something else.\n", ()).leaf
        named = document["redactions"][0]["leaves"][purged.before.entry(NOTE).leaf.digest.hex()]
        named |= {"leaf": made.digest.hex(), "salt": made.salt.hex()}

    with pytest.raises(SignatureError, match=r"notes\.md was changed"):
        checked(edited(path, exchanged))


def test_a_record_that_is_left_out_is_missed(path, purged):
    file = purged.last.partition
    *lines, _ = ArchiveFile(path).bodies[file].splitlines(keepends=True)
    with pytest.raises(BadDocument):
        checked(changed(path, **{file: b"".join(lines)}))


def test_a_record_cannot_be_claimed_to_be_gone(path, purged):
    """A line and its leaf are removed as if purged, but no redaction names it."""
    last = purged.last

    def claimed(document):
        document["records"].append([last.id, last.partition, last.position, last.leaf.digest.hex()])

    with pytest.raises(SignatureError, match=f"{last.id} is missing from {last.partition}"):
        checked(edited(path, claimed))


def test_a_gone_record_that_is_forgotten_is_missed_in_the_digest(path):
    def forgotten(document):
        document["records"] = []

    with pytest.raises(SignatureError, match="does not match its signed digest"):
        checked(edited(path, forgotten))


def test_a_gone_record_that_has_a_line_is_refused(path, purged):
    def renamed(document):
        document["records"][0][0] = purged.last.id

    with pytest.raises(BadDocument, match="two records have the id"):
        checked(edited(path, renamed))
    assert "not_gone" in {finding.code for finding in validate_archive(edited(path, renamed)).errors}


def test_a_place_that_the_partition_does_not_have_is_refused(path):
    def moved(document):
        document["records"][0][2] = 99

    with pytest.raises(BadDocument, match="which has no position 99"):
        checked(edited(path, moved))


@pytest.mark.parametrize(
    "parts",
    [
        {"records": ["another"]},
        {"attachment": {"id": "x"}},
        {"cuts": [{"offset": 0, "credential_id": "x"}]},
        {"type": "link"},
        {},
        [],
    ],
)
def test_a_former_meta_that_does_not_lead_to_the_one_shown_is_refused(path, parts):
    def other(document):
        document["metas"][NOTE] = parts

    with pytest.raises(BadDocument):
        checked(edited(path, other))


def test_a_former_meta_of_nothing_is_refused(path):
    def other(document):
        document["metas"]["raw/openclaw/none.md"] = {"records": ["x"]}

    with pytest.raises(BadDocument, match="not in the archive"):
        checked(edited(path, other))


def test_another_former_meta_is_missed_in_the_digest(path, purged):
    def other(document):
        document["metas"][NOTE]["records"] = [purged.pin.id, purged.first.id, purged.last.id]

    with pytest.raises(SignatureError, match="does not match its signed digest"):
        checked(edited(path, other))


def test_a_salt_cannot_be_taken_off_bytes_that_were_not_purged(path, purged):
    """A row claims that its salt was destroyed, but no redaction names the leaf."""
    soul = purged.state.entry("raw/openclaw/SOUL.md").leaf
    rows = ArchiveFile(path).bodies[archive_layout.LEAVES]
    made = rows.replace(pack_leaf_row(soul), pack_leaf_row(Leaf(soul.digest)))
    with pytest.raises(
        BadDocument, match="the content of raw/openclaw/SOUL\\.md cannot be verified, because its hash has no salt"
    ):
        checked(changed(path, **{archive_layout.LEAVES: made}))


@pytest.mark.parametrize(
    "change",
    [
        lambda document: document["redactions"].append(document["redactions"][0]),
        lambda document: document["redactions"][0].update(agent_id="019a0000-0000-7000-8000-00000000beef"),
        lambda document: document["redactions"][0].update(version=2),
        lambda document: document["records"].append(document["records"][0]),
        lambda document: document["records"][0].append(1),
        lambda document: document["records"][0].__setitem__(2, -1),
        lambda document: document["records"][0].__setitem__(3, "00"),
        lambda document: document.update(records={}),
        lambda document: document.update(metas=[]),
    ],
)
def test_a_document_of_the_wrong_shape_is_refused(path, change):
    made = edited(path, change)
    with pytest.raises(BadDocument, match=r"lifeboat/redactions\.json"):
        SnapshotReader(made)
    assert not validate_archive(made).ok


def test_the_document_says_what_it_is_said_to_say(path, purged):
    document = json.loads(ArchiveFile(path).bodies[archive_layout.REDACTIONS])
    assert sorted(document) == ["metas", "records", "redactions"]
    pin = purged.pin
    assert document["records"] == [[pin.id, pin.partition, pin.position, pin.leaf.digest.hex()]]
