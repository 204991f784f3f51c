"""Purging a file removes the records and their text everywhere, and nothing else."""

from __future__ import annotations

import zipfile
from datetime import UTC, datetime

import pytest

from lifeboat_alf.archive import archive_layout
from lifeboat_alf.common import json_codec
from lifeboat_alf.deltas.delta_writer import write_delta
from lifeboat_alf.deltas.state_diff import diff_states
from lifeboat_alf.errors import PurgeError
from lifeboat_alf.memory import effective_view, embeddings, memory_records
from lifeboat_alf.purging.file_purge import FilePurgeRequest, items_of, purge_file
from lifeboat_alf.purging.purge_items import PurgeOptions
from lifeboat_alf.purging.purge_planner import plan_cuts
from lifeboat_alf.purging.purge_terms import PurgeTerms
from lifeboat_alf.redaction.redacted_state import RedactedState
from lifeboat_alf.redaction.redactions import RECORDS, Redaction
from lifeboat_alf.snapshot import SnapshotReader, write_snapshot
from lifeboat_alf.testing import sample_states
from lifeboat_alf.testing.sample_states import MemoryState
from lifeboat_alf.validation.validate_file import validate_archive
from support.alf.packed_vectors import RecordVector, pack_vectors

NOW = datetime(2026, 11, 20, 13, tzinfo=UTC)
SECRET = "The passport number is X1234567 and must go.\n"
OTHER = "Likes tea in the afternoon.\n"


@pytest.fixture
def state():
    made = sample_states.make_full_state()
    secret = made.add(sample_states.make_record(SECRET))
    other = made.add(sample_states.make_record(OTHER, related_records=[{"id": secret.id, "relation": "caused_by"}]))
    made.put(
        "raw/openclaw/memory/2026-11-20.md", ("# Day\n\n" + SECRET + OTHER).encode(), records=[secret.id, other.id]
    )
    rows = b"".join(json_codec.encode_json({"text": text}) + b"\n" for text in (f"before {SECRET}after", "stays"))
    made.put("raw/openclaw-home/db/main/rows.jsonl", rows)
    made.put_artifact("copy.txt", (OTHER + SECRET).encode(), referenced_by=[secret.id, other.id])
    profile = sample_states.make_principals()
    profile["principals"][0]["profile"]["prose"]["user_profile"] = "# User\n\n" + SECRET
    made.put_document(archive_layout.PRINCIPALS, profile)
    vectors = [
        RecordVector(item.partition, item.id, sample_states.make_embedding([0.5, 0.25])) for item in (secret, other)
    ]
    for path, body in pack_vectors(vectors).items():
        made.put(path, body)
    return made.sign(lambda sequence: {"version": 1, "by": "nobody"}), secret, other


@pytest.fixture
def file(state, tmp_path):
    return written(state[0], tmp_path / "a.alf")


def written(state, path):
    with path.open("wb") as out:
        write_snapshot(state, out)
    return path


def run_purge(path, record_ids, out, **request):
    """Purge a file at a fixed time."""
    return purge_file(path, record_ids, out, FilePurgeRequest(NOW, **request))


def everything(path):
    with zipfile.ZipFile(path) as archive:
        return b"\n".join(name.encode() + b"\n" + archive.read(name) for name in archive.namelist())


def test_the_text_leaves_every_entry_and_the_rest_stays(state, file, tmp_path):
    _, secret, other = state
    out = tmp_path / "b.alf"
    done = run_purge(file, [secret.id], out)
    assert b"X1234567" not in everything(out)
    with SnapshotReader(out) as purged:
        assert purged.body("raw/openclaw/memory/2026-11-20.md") == b"# Day\n\n" + OTHER.encode()
        assert purged.body("raw/openclaw-home/db/main/rows.jsonl") == b'{"text":"stays"}\n'
        assert purged.entry("raw/openclaw/memory/2026-11-20.md").meta["records"] == [other.id]
        assert purged.entry("artifacts/copy.txt").meta["attachment"]["referenced_by"] == [other.id]
        assert purged.record(secret.id) is None
        assert purged.record(other.id).line == other.line
        assert [len(embeddings.StateVectors(purged).of(item.id)) for item in (secret, other)] == [0, 1]
        assert purged.sequence.digest == b"" and purged.sequence.signature is None
    assert done.counts == {secret.partition: 1}
    assert done.warnings == []
    assert secret.leaf.salt not in everything(out) and other.leaf.salt not in everything(out)


def test_what_remains_is_valid_and_links_to_the_purged_are_left_dangling(state, file, tmp_path):
    out = tmp_path / "b.alf"
    run_purge(file, [state[1].id], out)
    found = validate_archive(out)
    assert found.ok
    assert [finding.code for finding in found.warnings] == ["dangling"]


def test_the_audit_record_has_exactly_its_fields_and_nothing_of_the_content(state, file, tmp_path):
    _, secret, _ = state
    audit = run_purge(file, [secret.id], tmp_path / "b.alf", reason="gdpr_article_17").audit
    assert audit == {
        "purge_id": audit["purge_id"],
        "agent_id": sample_states.AGENT_ID,
        "scope": "record_purge",
        "record_ids": [secret.id],
        "partitions_affected": [secret.partition],
        "reason": "gdpr_article_17",
        "requested_at": "2026-11-20T13:00:00.000Z",
        "completed_at": "2026-11-20T13:00:00.000Z",
        "requested_by": sample_states.make_principals()["principals"][0]["id"],
    }


def test_a_dry_run_says_the_same_and_writes_nothing(state, file, tmp_path):
    before = file.read_bytes()
    done = run_purge(file, [state[1].id], None)
    assert (done.counts, done.audit["record_ids"]) == ({state[1].partition: 1}, [state[1].id])
    assert [path.name for path in tmp_path.iterdir()] == ["a.alf"] and file.read_bytes() == before


@pytest.mark.parametrize("extra", [{"reason": "because the passport is X1234567"}, {}])
def test_an_unknown_id_or_reason_writes_nothing(state, file, tmp_path, extra):
    unknown = sample_states.make_record()["id"]
    with pytest.raises(PurgeError, match="reason" if extra else unknown):
        run_purge(file, [state[1].id, unknown], tmp_path / "b.alf", **extra)
    assert [path.name for path in tmp_path.iterdir()] == ["a.alf"]


def test_a_file_that_is_there_is_never_overwritten(state, file):
    with pytest.raises(PurgeError, match="exists"):
        run_purge(file, [state[1].id], file)


def test_a_delta_is_refused_with_the_way_to_go(tmp_path):
    path = tmp_path / "a.alf-delta"
    with path.open("wb") as out:
        write_delta(diff_states(MemoryState(), sample_states.make_full_state().copy()), out)
    with pytest.raises(PurgeError, match="apply the delta to its base"):
        run_purge(path, ["x"], tmp_path / "b")


def test_positions_of_secrets_behind_the_passage_move_with_it(tmp_path):
    made = MemoryState()
    secret = made.add(sample_states.make_record(SECRET))
    body = ("a: " + SECRET + "key=\n").encode()
    cut = {"offset": body.index(b"key=") + 4, "credential_id": sample_states.AGENT_ID}
    made.put("raw/openclaw/TOOLS.md", body, records=[secret.id], cuts=[{"offset": 1, **dict(credential_id="x")}, cut])
    out = tmp_path / "b.alf"
    run_purge(written(made, tmp_path / "a.alf"), [secret.id], out)
    with SnapshotReader(out) as purged:
        entry = purged.entry("raw/openclaw/TOOLS.md")
        assert purged.body(entry.path) == b"a: key=\n"
        assert [item["offset"] for item in entry.meta["cuts"]] == [1, 7]


def test_the_text_goes_from_entries_that_nobody_knows_and_from_other_records(tmp_path):
    made = MemoryState()
    secret = made.add(sample_states.make_record(SECRET))
    other = made.add(sample_states.make_record("He said: " + SECRET))
    made.put("x-unknown/notes", b"a " + SECRET.encode())
    done = run_purge(written(made, tmp_path / "a.alf"), [secret.id], tmp_path / "b.alf")
    assert (done.files, done.audit["record_ids"]) == ({"x-unknown/notes": 1}, [secret.id])
    with SnapshotReader(tmp_path / "b.alf") as purged:
        assert purged.body("x-unknown/notes") == b"a "
        assert memory_records.parse_record(purged.record(other.id).line)["content"] == "He said: "


def test_a_memory_that_says_nothing_else_is_the_same_one(tmp_path):
    made = MemoryState()
    secret, twin = made.add(sample_states.make_record(SECRET)), made.add(sample_states.make_record(SECRET.strip()))
    done = run_purge(written(made, tmp_path / "a.alf"), [secret.id], tmp_path / "b.alf")
    assert done.audit["record_ids"] == sorted([secret.id, twin.id])


def test_a_file_that_knows_of_purges_is_purged_again(tmp_path):
    made = MemoryState()
    first, second = made.add(sample_states.make_record(SECRET)), made.add(sample_states.make_record(OTHER))
    body = (SECRET + OTHER + "key=\n").encode()
    cut = {"offset": len(body) - 1, "credential_id": sample_states.AGENT_ID}
    made.put("raw/openclaw/a.md", body, records=[first.id, second.id], cuts=[cut])
    made.sign(lambda sequence: {"version": 1, "by": "nobody"})
    cuts = plan_cuts(items_of(made), sample_states.AGENT_ID, [first.id])
    done = Redaction(
        first.id,
        sample_states.AGENT_ID,
        RECORDS,
        "user_request",
        sample_states.TIME,
        "x",
        cuts.record_ids,
        leaves=cuts.leaves,
    )
    known, out = written(RedactedState(made, [done]), tmp_path / "a.alf"), tmp_path / "b.alf"
    run_purge(known, [second.id], out)
    with SnapshotReader(out) as purged:
        entry = purged.entry("raw/openclaw/a.md")
        assert (purged.body(entry.path), entry.meta) == (b"key=\n", {"cuts": [{**cut, "offset": 4}]})
        assert (list(purged.records()), list(purged.gone()), len(purged.redactions)) == ([], [], 0)
        assert entry.leaf.salt
    assert validate_archive(out, strict=True).ok


def test_a_file_keeps_the_chain_of_a_record_that_said_the_same(tmp_path):
    made = MemoryState()
    secret, before = (
        made.add(sample_states.make_record(SECRET)),
        made.add(sample_states.make_record("An older text of it.")),
    )
    made.add(sample_states.make_record(SECRET, supersedes=before.id))
    run_purge(written(made, tmp_path / "a.alf"), [secret.id], tmp_path / "b.alf")
    assert visible(tmp_path / "b.alf") == []
    assert validate_archive(tmp_path / "b.alf", strict=True).ok


# Chains ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def chain(tmp_path):
    """Return three texts of one memory: a sealed one, its successor, and the successor of that."""
    made = MemoryState()
    first = made.add(sample_states.make_record("First text of it.", created_at="2026-05-04T08:00:00.000Z"))
    second = made.add(sample_states.make_record("Second text of it.", supersedes=first.id))
    third = made.add(sample_states.make_record("Third text of it.", supersedes=second.id))
    made.add(sample_states.make_record("Something else."))
    made.seal(first.partition, "2026-06-30")
    return written(made, tmp_path / "a.alf"), [first.id, second.id, third.id]


def visible(path):
    with SnapshotReader(path) as state:
        return [item.record["content"] for item in effective_view.visible_records(state)]


@pytest.mark.parametrize("named", [0, 1, 2])
def test_a_chain_goes_whole(chain, tmp_path, named):
    path, ids = chain
    out = tmp_path / "b.alf"
    audit = run_purge(path, [ids[named]], out).audit
    assert audit["record_ids"] == sorted(ids)
    assert visible(out) == ["Something else."]
    assert validate_archive(out, strict=True).ok


@pytest.mark.parametrize(
    ("named", "left"), [([0], True), ([1], True), ([0, 1], True), ([2], False), ([1, 2], False), ([0, 2], False)]
)
def test_only_the_named_go_and_no_older_text_is_a_memory_again(chain, tmp_path, named, left):
    path, ids = chain
    out = tmp_path / "b.alf"
    run_purge(path, [ids[number] for number in named], out, options=PurgeOptions(only=True))
    assert visible(out) == (["Third text of it.", "Something else."] if left else ["Something else."])
    with SnapshotReader(out) as state:
        assert not {record.id for record in state.records()} & {ids[number] for number in named}
        last = state.record(ids[2])
        if named == [1]:
            assert memory_records.parse_record(last.line)["supersedes"] == ids[0]
        if named == [0, 1]:
            assert "supersedes" not in memory_records.parse_record(last.line)
    assert validate_archive(out, strict=True).ok


# What a person looks for -----------------------------------------------------------------------------------------


def test_a_text_takes_the_records_that_hold_it_and_every_other_place(state, file, tmp_path):
    out = tmp_path / "b.alf"
    done = run_purge(file, [], out, wanted=PurgeTerms(("X1234567",)))
    assert b"X1234567" not in everything(out)
    assert done.audit["record_ids"] == [state[1].id]
    assert validate_archive(out).ok


def test_a_passage_leaves_the_record_and_the_file_with_the_rest(state, file, tmp_path):
    out = tmp_path / "b.alf"
    done = run_purge(file, [], out, wanted=PurgeTerms(("X1234567",)), options=PurgeOptions(passage=True))
    assert b"X1234567" not in everything(out)
    with SnapshotReader(out) as purged:
        assert memory_records.parse_record(purged.record(state[1].id).line)["content"] == SECRET.replace("X1234567", "")
        assert b"The passport number is  and must go." in purged.body("raw/openclaw/memory/2026-11-20.md")
        assert purged.entry("raw/openclaw/memory/2026-11-20.md").meta["records"] == [state[1].id, state[2].id]
        assert embeddings.StateVectors(purged).of(state[1].id) == []
    assert (done.counts, done.audit["partitions_affected"]) == ({}, [state[1].partition])
    assert validate_archive(out).ok


def test_nothing_found_writes_nothing(state, file, tmp_path):
    with pytest.raises(PurgeError, match="nothing in the file matches"):
        run_purge(file, [], tmp_path / "b.alf", wanted=PurgeTerms(("no such text",)))
    assert not (tmp_path / "b.alf").exists()


def test_a_purged_file_is_purged_again(state, file, tmp_path):
    first, second = tmp_path / "b.alf", tmp_path / "c.alf"
    run_purge(file, [state[1].id], first)
    run_purge(first, [state[2].id], second)
    assert b"tea in the afternoon" not in everything(second)
    assert validate_archive(second).ok


def test_a_secret_that_was_cut_out_inside_of_what_goes_is_not_put_back(tmp_path):
    made = MemoryState()
    secret = made.add(sample_states.make_record("The token is  for now."))
    body = b"a\nThe token is  for now.\n"
    made.put(
        "raw/openclaw/a.md", body, records=[secret.id], cuts=[{"offset": 15, "credential_id": sample_states.AGENT_ID}]
    )
    run_purge(written(made, tmp_path / "a.alf"), [secret.id], tmp_path / "b.alf")
    with SnapshotReader(tmp_path / "b.alf") as purged:
        assert purged.entry("raw/openclaw/a.md").meta == {}
