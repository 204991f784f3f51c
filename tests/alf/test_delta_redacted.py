"""Deltas between states with purged content."""

from __future__ import annotations

import contextlib
import hashlib
import io
import itertools
import json
import zipfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lifeboat_alf.archive import archive_layout
from lifeboat_alf.common import json_codec
from lifeboat_alf.deltas.applied_state import AppliedState
from lifeboat_alf.deltas.delta_writer import DeltaReader
from lifeboat_alf.deltas.state_diff import diff_states
from lifeboat_alf.errors import ApplyError, BadDocument, SignatureError
from lifeboat_alf.redaction.redactions import Redactions
from lifeboat_alf.snapshot import SnapshotReader
from lifeboat_alf.states import merkle
from lifeboat_alf.states.agent_state import BodyAbsent
from lifeboat_alf.testing import sample_states
from lifeboat_alf.testing.sample_states import MemoryState
from lifeboat_alf.validation.validate_file import validate_archive
from support.alf import archive_files
from support.alf.archive_files import ArchiveFile
from support.alf.raising import raises_code
from support.alf.random_states import (
    Script,
    applied,
    archive,
    assert_same,
    cut,
    delta_bytes,
    redaction,
    redactions_of,
    two_states,
)

PIN = "The door opens with 492817."
NOTE = "raw/openclaw/memory/notes.md"
LONG = "".join(f"Line {number} of a long note, {hashlib.sha256(b'%d' % number).hexdigest()}.\n" for number in range(60))


@given(two_states(), st.data())
@settings(max_examples=40)
def test_a_delta_between_purged_states_gives_the_other_one(states, data):
    a, b = states
    purge = data.draw(redactions_of(a, b))
    a.redact(purge)
    b.redact(purge)
    assert_same(applied(a, delta_bytes(a, b)), b)


@given(two_states(), st.data())
@settings(max_examples=40)
def test_a_delta_from_before_the_purge_to_after_it_gives_the_purged_state(states, data):
    a, b = states
    b.redact(data.draw(redactions_of(a, b)))
    assert_same(applied(a, delta_bytes(a, b)), b)


@given(two_states(), st.data())
@settings(max_examples=40)
def test_a_delta_of_before_the_purge_reads_as_it_does_now_on_a_purged_archive(states, data):
    """Except patches, whose base bytes no longer exist."""
    a, b = states
    purge = data.draw(redactions_of(a, b))
    old = delta_bytes(a, b)
    a.redact(purge)
    b.redact(purge)
    try:
        found = applied(a, old)
    except ApplyError as refused:
        assert refused.code == ApplyError.BASE_MISMATCH.code
        return
    assert (list(found.records()), list(found.gone())) == (list(b.records()), list(b.gone()))
    assert merkle.state_digest(found, check_bodies=False) == b.sequence.digest


@given(two_states(), st.data())
@settings(max_examples=40)
def test_deltas_that_bring_a_purge_stack_on_an_archive(states, data):
    a, b = states
    c = Script(data.draw).run(b.copy(number=b.sequence.number + 5))
    purge = data.draw(redactions_of(a, b, c))
    b.redact(purge)
    c.redact(purge)
    with SnapshotReader(io.BytesIO(archive(a))) as base:
        assert_same(applied(applied(base, delta_bytes(a, b)), delta_bytes(b, c)), c)


class Story:
    """An agent before (`a`) and after (`b`) a user told it a PIN, in a memory and in a note, and the purge."""

    def __init__(self):
        self.a = sample_states.make_full_state()
        self.a.put(NOTE, LONG.encode())
        self.old = self.a.add(sample_states.make_record("Likes the sea."))
        self.b = self.a.copy()
        self.pin = self.b.add(sample_states.make_record(PIN))
        self.last = self.b.add(sample_states.make_record("Sings."))
        body = f"{LONG}{PIN}\n".encode()
        self.b.put(NOTE, body, records=[self.pin.id])
        self.tombstone = json_codec.encode_json(
            {**json_codec.decode_json(self.old.line), "content": "[deleted]", "status": "deleted"}
        )
        leaves = {
            self.pin.leaf.digest: None,
            self.old.leaf.digest: cut(self.old.line, 0, len(self.old.line), self.tombstone),
            self.b.entry(NOTE).leaf.digest: cut(body, len(LONG), len(body)),
        }
        self.purge = redaction(leaves, record_ids=(self.pin.id,))


@pytest.fixture
def story():
    return Story()


@pytest.fixture
def path(story, tmp_path):
    """Return the delta from before the PIN to after its purge."""
    made = tmp_path / "news.alf-delta"
    made.write_bytes(delta_bytes(story.a, story.b.copy(story.b.sequence.number).redact(story.purge)))
    return made


def changed(path: Path, **bodies) -> Path:
    return archive_files.edit(path, path.with_name("edited.alf-delta"), bodies)


def edited(path: Path, change) -> Path:
    document = ArchiveFile(path).json(archive_layout.REDACTIONS)
    change(document)
    return changed(path, **{archive_layout.REDACTIONS: json_codec.encode_json(document)})


# What a delta holds ---------------------------------------------------------------------------------------------


def test_nothing_of_what_was_purged_is_in_a_delta(path):
    assert not [name for name, body in ArchiveFile(path).bodies.items() if b"492817" in body]


def test_the_id_of_a_gone_record_is_in_no_line(path, story):
    ids = [line["id"] for line in ArchiveFile(path).lines(archive_layout.DELTA_RECORDS)]
    assert ids == [story.old.id, story.last.id]


def test_no_digest_tells_what_bytes_were_before_they_were_purged(story, tmp_path):
    """The digest of a short text reveals the text."""
    after = story.b.copy().put(NOTE, LONG.encode())
    path = tmp_path / "after.alf-delta"
    path.write_bytes(delta_bytes(story.b, after.redact(story.purge)))
    digests = {hashlib.sha256(body).hexdigest() for body in (story.b.body(NOTE), story.pin.line, story.old.line)}
    assert not [name for name, body in ArchiveFile(path).bodies.items() for each in digests if each.encode() in body]
    assert_same(AppliedState(story.b, DeltaReader(path)), after)


def test_a_delta_without_a_purge_has_nothing_of_it(story, tmp_path):
    path = tmp_path / "news.alf-delta"
    path.write_bytes(delta_bytes(story.a, story.b))
    assert archive_layout.REDACTIONS not in ArchiveFile(path).bodies


def test_a_purge_alone_is_a_change(story):
    purged = story.b.copy().redact(story.purge)
    changes = diff_states(story.b, purged)
    assert [gone.id for gone in changes.gone] == [story.pin.id]
    assert (bool(changes), changes.removed) == (True, [])


def test_a_delta_of_a_purged_state_validates(path):
    assert validate_archive(path).ok


# Applying it ----------------------------------------------------------------------------------------------------


def test_a_changed_note_of_which_something_was_purged_travels_whole(story):
    a = story.b.redact(story.purge)
    b = a.copy().put(NOTE, f"{LONG}One more line.\n".encode())
    data = delta_bytes(a, b)
    assert "lifeboat/patches/1" not in DeltaReader(io.BytesIO(data)).names()
    assert_same(applied(a, data), b)


def test_a_changed_note_fits_a_base_at_which_the_purge_still_waits(story):
    there, a = story.b.copy(story.b.sequence.number), story.b.redact(story.purge)
    b = a.copy().put(NOTE, f"{LONG}One more line.\n".encode())
    there._redactions = Redactions(waiting=[story.purge])
    assert applied(there, delta_bytes(a, b)).body(NOTE) == b.body(NOTE)


@given(two_states(), st.data())
@settings(max_examples=40)
def test_a_delta_of_a_machine_that_purged_fits_a_base_at_which_the_purge_still_waits(states, data):
    a, b = states
    purge = data.draw(redactions_of(a, b))
    there = a.copy(a.sequence.number)
    sent = delta_bytes(a.redact(purge), b.redact(purge))
    there._redactions = Redactions(waiting=[purge])
    found = applied(there, sent)
    assert merkle.state_digest(found, check_bodies=False) == b.sequence.digest
    for entry in found.entries():
        with contextlib.suppress(BodyAbsent):
            found.body(entry.path)


def test_a_patch_fits_a_base_that_was_not_purged_when_the_delta_brings_the_purge(story):
    """The note is patched; the changed meta of another note of the same base brings the redaction."""
    before, a = story.b.copy(story.b.sequence.number), story.b.redact(story.purge)
    b = a.copy().set_meta(NOTE, mtime_ns="7")
    assert_same(applied(before, delta_bytes(a, b)), b)


def test_a_patch_from_before_the_purge_is_refused_on_what_it_left(story):
    b = story.b.copy().put(NOTE, f"{LONG}{PIN}\nOne more line.\n".encode())
    old = delta_bytes(story.b, b)
    with raises_code(ApplyError.BASE_MISMATCH, match="purge"):
        applied(story.b.redact(story.purge), old).body(NOTE)


def test_a_touched_note_travels_without_what_a_purge_left_of_it(story):
    a = story.b.redact(story.purge)
    b = a.copy().set_meta(NOTE, mtime_ns="7")
    data = delta_bytes(a, b)
    assert NOTE not in DeltaReader(io.BytesIO(data)).names()
    assert_same(applied(a, data), b)


def test_what_comes_under_a_leaf_that_was_purged_here_is_taken_as_it_reads_now(story):
    old = delta_bytes(story.a, story.b)
    found = applied(story.a.redact(story.purge), old)
    assert_same(found, story.b.redact(story.purge))
    assert [gone.id for gone in found.changed_gone()] == [story.pin.id]


def test_what_waits_here_is_not_applied_to_what_comes(story):
    old = delta_bytes(story.a, story.b)
    story.a._redactions = Redactions(waiting=[story.purge])
    assert applied(story.a, old).record(story.pin.id) is not None


def test_what_was_purged_elsewhere_is_taken_while_it_waits_here(path, story):
    story.a._redactions = Redactions(waiting=[story.purge])
    found = AppliedState(story.a, DeltaReader(path))
    assert (found.record(story.pin.id), found.body(NOTE)) == (None, LONG.encode())


def test_a_record_that_changed_where_its_purge_was_not_known_has_a_line_again(story):
    a = story.b.copy(story.b.sequence.number).redact(story.purge)
    story.b.update({**json_codec.decode_json(story.pin.line), "tags": ["door"]})
    b = story.b.copy().redact(story.purge)
    assert b.record(story.pin.id) is not None
    found = applied(a, delta_bytes(a, b))
    assert_same(found, b)
    assert [change.operation for change in found.changed_records()] == ["update"]


def test_a_record_that_changed_before_it_was_purged_is_gone_from_a_base_that_has_it_unchanged(story):
    b = story.a.copy()
    made = b.update({**json_codec.decode_json(story.old.line), "content": PIN})
    b.redact(redaction({made.leaf.digest: None}))
    found = applied(story.a, delta_bytes(story.a, b))
    assert_same(found, b)
    assert found.record(made.id) is None


def test_bytes_equal_to_those_that_a_purge_took_travel_again(story):
    """The delta carries the redaction of the former leaf, so its reader has dropped the base's bytes."""
    b = story.b.copy().put(NOTE, b"").put(NOTE, story.b.body(NOTE)).redact(story.purge)
    assert b.entry(NOTE).leaf.salt
    assert_same(applied(story.b, delta_bytes(story.b, b)), b)


def test_unchanged_files_show_the_records_that_they_show_after_the_purge(story):
    """The record has a line again, under another leaf; its purge removes its id from the lists of files."""
    b = story.b.copy()
    b.update({**json_codec.decode_json(story.pin.line), "tags": ["door"]})
    b.redact(redaction({story.pin.leaf.digest: None}, record_ids=(story.pin.id,)))
    assert_same(applied(story.b, delta_bytes(story.b, b)), b)


def test_a_gone_record_stands_in_the_way_of_no_other(story):
    a = story.b.redact(story.purge)
    b = a.copy()
    made = b.add(sample_states.make_record("Dances."))
    assert made.position == 1 + max(gone.position for gone in itertools.chain([story.last], a.gone()))
    assert_same(applied(a, delta_bytes(a, b)), b)


def test_a_foreign_delta_files_behind_what_is_gone():
    state = MemoryState()
    gone = state.add(sample_states.make_record(PIN))
    state.redact(redaction({gone.leaf.digest: None}))
    data = foreign_delta(state, sample_states.make_record("Sings."))
    assert [record.position for record in applied(state, data).records()] == [1]


def foreign_delta(state, record):
    manifest = {
        "alf_version": "1.0.0",
        "created_at": sample_states.TIME,
        "agent": {"id": sample_states.AGENT_ID},
        "sync": {"base_sequence": state.sequence.number, "new_sequence": state.sequence.number + 1},
        "changes": {"memory": {"file": archive_layout.DELTA_RECORDS, "record_count": 1}},
    }
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as file:
        file.writestr(archive_layout.DELTA_MANIFEST, json.dumps(manifest))
        file.writestr(archive_layout.DELTA_RECORDS, json.dumps({"operation": "create", **record}) + "\n")
    return out.getvalue()


# Tampering ------------------------------------------------------------------------------------------------------


def laid(story, path):
    return AppliedState(story.a, DeltaReader(path))


def test_a_change_of_replaced_bytes_is_seen(story, path):
    """Another text of the same length, with a matching digest."""
    name = next(item["entry"] for item in ArchiveFile(path).manifest["changes"]["raw"] if item["path"] == NOTE)
    with pytest.raises(SignatureError, match=r"notes\.md was changed"):
        laid(story, changed(path, **{name: LONG.replace("long", "love").encode()}))


def test_a_change_of_a_tombstone_is_seen(story, path):
    lines = ArchiveFile(path).bodies[archive_layout.DELTA_RECORDS].replace(b"[deleted]", b"[revived]")
    with pytest.raises(SignatureError, match=f"the record {story.old.id} was changed"):
        laid(story, changed(path, **{archive_layout.DELTA_RECORDS: lines}))


def test_redactions_that_are_not_there_are_missed(story, path):
    with pytest.raises(SignatureError):
        laid(story, changed(path, **{archive_layout.REDACTIONS: None}))


def test_a_gone_record_without_a_redaction_is_refused(path):
    def emptied(document):
        document["redactions"] = []

    with pytest.raises(SignatureError, match="no purge removed it"):
        DeltaReader(edited(path, emptied))


def test_a_record_that_is_here_and_gone_is_refused(story, path):
    def renamed(document):
        document["records"][0][0] = story.last.id

    made = edited(path, renamed)
    with pytest.raises(BadDocument, match=r"contains the record .* and also lists it as removed"):
        laid(story, made)
    assert [finding.code for finding in validate_archive(made).errors] == ["not_gone"]


def test_a_record_is_gone_from_where_the_base_has_it(story, path):
    def renamed(document):
        document["records"][0][0] = next(story.a.records()).id

    with pytest.raises(ApplyError, match="at a position where the base does not contain it"):
        laid(story, edited(path, renamed))
