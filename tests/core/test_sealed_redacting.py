"""Purges of sealed logs: nothing of what went is left in the folder, and everything else comes back as it was."""

from __future__ import annotations

import random
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO

import pytest

from lifeboat_alf.common import json_codec
from lifeboat_alf.redaction.redactions import WHOLE_AGENT, ByteEdit, replacement_of
from lifeboat_alf.seams.crash_points import CrashPoint
from lifeboat_alf.testing.sample_states import AGENT_ID
from lifeboat_core.remotes.sealed import log_compaction, log_contents, log_search
from lifeboat_core.remotes.sealed.folder_files import FolderFiles
from lifeboat_core.remotes.sealed.log_rewriter import LogRewriter
from lifeboat_core.remotes.vault_bundles import VaultBundleSource
from lifeboat_keys.signed import vault_receipts
from lifeboat_vault.errors import AgentErased, RemoteBusy, RemoteRefused, UnknownAtRemote
from support.core.sealed_logs import SOUL, Machine, content_there
from support.core.sealed_purges import (
    CUT,
    NOTE,
    SECRET,
    capture,
    cut,
    expect_whole,
    files,
    leaks,
    lock,
    made,
    purge,
    purge_here,
    remember,
    thin,
)
from support.killing import killed_at
from support.vault.vaults import file_key


@pytest.fixture
def laptop(tmp_path: Path) -> Machine:
    return Machine(tmp_path / "laptop", tmp_path / "stick")


@pytest.fixture(params=[True, False], ids=["sealed", "plain"])
def either(tmp_path: Path, request: pytest.FixtureRequest) -> Machine:
    return Machine(tmp_path / "laptop", tmp_path / "stick", sealed=request.param)


def test_the_scan_finds_what_is_there_before(laptop: Machine) -> None:
    remember(laptop)
    assert leaks(laptop)


def test_nothing_of_it_is_left_and_every_state_restores(either: Machine) -> None:
    numbers = remember(either)
    purge(either)
    assert leaks(either) == []
    expect_whole(either, numbers)


def test_files_that_have_nothing_to_do_with_it_stay_as_they_are(laptop: Machine) -> None:
    remember(laptop)
    before = {path.name for path in laptop.agent_folder.iterdir()}
    purge(laptop)
    kept = before & {path.name for path in laptop.agent_folder.iterdir()}
    assert {name[:12] for name in kept if name[0] == "0"} == {f"{number:012d}" for number in (0, 5)}


def test_the_receipt_is_signed_by_the_device_and_says_what_was_read_back(laptop: Machine) -> None:
    remember(laptop)
    redaction = cut(laptop)
    purge_here(laptop, redaction)
    state = laptop.log().redact(AGENT_ID, redaction.to_json())
    assert state.applies_at is None and state.receipt is not None
    receipt = vault_receipts.decode_vault_receipt(state.receipt)
    assert (
        vault_receipts.verify_vault_receipt(receipt, trusted=laptop.context.keys().trusted, endpoints={})
        is vault_receipts.ReceiptVerdict.SIGNED
    )
    assert (receipt.remaining, receipt.found["hits"], receipt.found["read"]) == (0, 0, 6)
    assert (receipt.leaves, receipt.objects, receipt.applied) == (len(redaction.leaves), len(redaction.leaves), 1)
    assert receipt.vault_id == laptop.log().about().id


def test_a_receipt_does_not_claim_what_is_not_so(laptop: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    remember(laptop)
    redaction = cut(laptop)
    purge_here(laptop, redaction)
    monkeypatch.setattr(log_search.PlacedLeaves, "concerns", lambda _, row: row.number != 1)  # one file is forgotten
    receipt = laptop.log().redact(AGENT_ID, redaction.to_json()).receipt
    assert receipt is not None
    assert receipt["remaining"] == receipt["found"]["hits"] > 0


def test_another_machine_that_writes_meanwhile_loses_nothing(laptop: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = remember(laptop)
    redaction = cut(laptop)
    purge_here(laptop, redaction)
    made_row, pushed = LogRewriter.made_row, list[int]()

    def made_row_then_push(rewriting: LogRewriter, *given: Any) -> Any:
        made = made_row(rewriting, *given)
        if not pushed:
            capture(laptop, {NOTE: b"meanwhile"})
            pushed.append(laptop.push())
        return made

    monkeypatch.setattr(LogRewriter, "made_row", made_row_then_push)
    laptop.log().redact(AGENT_ID, redaction.to_json())
    assert leaks(laptop) == []
    expect_whole(laptop, [*numbers, *pushed])


def test_again_is_no_error_and_changes_nothing(laptop: Machine) -> None:
    remember(laptop)
    redaction = purge(laptop)
    before = (laptop.agent_folder / "head.json").read_bytes()
    assert laptop.log().redact(AGENT_ID, redaction.to_json()).receipt is not None
    assert (laptop.agent_folder / "head.json").read_bytes() == before


def test_another_machine_gets_the_list_at_first_contact(laptop: Machine, tmp_path: Path) -> None:
    remember(laptop)
    redaction = purge(laptop)
    newcomer = Machine(tmp_path / "newcomer", laptop.stick, key=laptop.key, sealed=laptop.sealed)
    assert newcomer.log().redactions(AGENT_ID) == [redaction.to_json()]


def test_the_list_of_a_sealed_log_shows_nothing(laptop: Machine) -> None:
    remember(laptop)
    redaction = purge(laptop)
    raw = b"".join(path.read_bytes() for path in laptop.agent_folder.iterdir())
    assert b"user_request" not in raw and next(iter(redaction.leaves)).hex().encode() not in raw


def test_a_machine_without_the_states_reads_them_back_with_the_key(laptop: Machine, tmp_path: Path) -> None:
    numbers = remember(laptop)
    redaction = cut(laptop)
    other = Machine(tmp_path / "other", laptop.stick, key=laptop.key, sealed=laptop.sealed)
    receipt = other.log().redact(AGENT_ID, redaction.to_json()).receipt
    purge_here(laptop, redaction)
    assert leaks(laptop) == [] and receipt is not None and receipt["leaves"] == len(redaction.leaves)
    expect_whole(laptop, numbers)


def test_states_that_were_thinned_here_are_read_back_and_written_anew(laptop: Machine) -> None:
    numbers = remember(laptop)
    whole = {number: content_there(laptop.log(), number) for number in numbers}
    redaction = cut(laptop)
    thin(laptop, [2, 4])
    purge_here(laptop, redaction)
    laptop.log().redact(AGENT_ID, redaction.to_json())
    assert leaks(laptop) == []
    assert [each.number for each in laptop.log().sequences(AGENT_ID)] == numbers
    for number in numbers:
        found = content_there(laptop.log(), number)
        assert found[0][SOUL] == whole[number][0][SOUL] and SECRET.encode() not in b"".join(
            body for _, body in found[0].values()
        )


def test_with_the_key_away_it_is_done_of_the_states_that_are_here(
    laptop: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    numbers = remember(laptop)
    with monkeypatch.context() as patch:
        lock(laptop, patch)
        purge(laptop)
    assert leaks(laptop) == []
    expect_whole(laptop, numbers)


def test_what_only_the_log_has_waits_for_the_key_and_is_done_at_the_next_contact(
    laptop: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    remember(laptop)
    redaction = cut(laptop)
    thin(laptop, [2, 4])
    purge_here(laptop, redaction)
    before = {path.name for path in laptop.agent_folder.iterdir() if path.name.startswith("0")}
    with monkeypatch.context() as patch:
        lock(laptop, patch)
        with pytest.raises(RemoteBusy, match="waits for your key") as refused:
            laptop.log().redact(AGENT_ID, redaction.to_json())
        assert refused.value.fix == "lifeboat keys unlock"
        assert laptop.log().redactions(AGENT_ID) == [redaction.to_json()]
        assert {path.name for path in laptop.agent_folder.iterdir() if path.name.startswith("0")} == before
    assert laptop.log().redactions(AGENT_ID) == [redaction.to_json()]
    assert leaks(laptop) == []


STEPS = [
    (step, nth)
    for step, most in (
        (CrashPoint.SEALED_HEAD_REPLACED, 3),
        (CrashPoint.SEALED_FILE_WRITTEN, 2),
        (CrashPoint.SEALED_REWRITTEN, 1),
        (CrashPoint.SEALED_SWEPT, 1),
    )
    for nth in range(1, most + 1)
]


@pytest.mark.parametrize(("step", "nth"), STEPS, ids=[f"{step.value}-{nth}" for step, nth in STEPS])
def test_killed_anywhere_the_next_contact_does_the_rest(laptop: Machine, step: CrashPoint, nth: int) -> None:
    numbers = remember(laptop)
    redaction = cut(laptop)
    purge_here(laptop, redaction)
    assert killed_at(lambda: laptop.log().redact(AGENT_ID, redaction.to_json()), step, nth)
    if not laptop.log().redactions(AGENT_ID):  # it never got there
        laptop.log().redact(AGENT_ID, redaction.to_json())
    assert leaks(laptop) == []
    expect_whole(laptop, numbers)


def test_a_push_that_was_cut_off_before_leaves_nothing(either: Machine) -> None:
    remember(either)
    capture(either, {NOTE: CUT})
    assert killed_at(lambda: either.push(), CrashPoint.SEALED_HEAD_REPLACED)
    purge(either)
    assert leaks(either) == []


def test_a_file_that_was_half_written_goes_too(tmp_path: Path) -> None:
    laptop = Machine(tmp_path / "laptop", tmp_path / "stick", sealed=False)
    remember(laptop)
    half = laptop.agent_folder / ".000000000009-0123456789ab.alf.0123456789ab.tmp"
    half.write_bytes(CUT)
    purge(laptop)
    assert not half.exists()


def test_a_push_that_was_under_way_is_taken_as_it_reads_now(
    laptop: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    numbers = remember(laptop)
    capture(laptop, {NOTE: CUT})
    late = laptop.bundle(6, 5)
    log, redaction = laptop.log(), cut(laptop)
    put, names = FolderFiles.put, list[str]()

    def put_then_purge(files: FolderFiles, agent_id: str, name: str, source: BinaryIO) -> None:
        put(files, agent_id, name, source)
        if not names:
            names.append(name)
            purge_here(laptop, redaction)
            laptop.log().redact(AGENT_ID, redaction.to_json())

    monkeypatch.setattr(FolderFiles, "put", put_then_purge)
    assert log.push(AGENT_ID, late).number == 6
    assert leaks(laptop) == []
    expect_whole(laptop, [*numbers, 6])


def test_an_old_delta_that_is_sent_again_is_taken_as_it_reads_now(laptop: Machine, tmp_path: Path) -> None:
    numbers = remember(laptop)
    capture(laptop, {"raw/openclaw/COPY.md": CUT}, [])
    old = laptop.bundle(6, 5)
    redaction = cut(laptop)
    other = Machine(tmp_path / "other", laptop.stick, key=laptop.key, sealed=laptop.sealed)
    other.log().redact(AGENT_ID, redaction.to_json())
    assert other.log().push(AGENT_ID, old).number == 6
    assert leaks(laptop) == []
    purge_here(laptop, redaction)
    expect_whole(laptop, [*numbers, 6])


def test_an_old_snapshot_that_is_sent_again_is_taken_as_it_reads_now(laptop: Machine, tmp_path: Path) -> None:
    remember(laptop)
    old = laptop.bundle(2)
    redaction = cut(laptop)
    purge_here(laptop, redaction)
    stick = Machine(tmp_path / "other", tmp_path / "other-stick", key=laptop.key, sealed=laptop.sealed)
    stick.log().register(AGENT_ID, "ada", "openclaw")
    stick.log().redact(AGENT_ID, redaction.to_json())
    stick.log().push(AGENT_ID, old)
    assert leaks(stick) == []
    assert content_there(stick.log(), 2) == laptop.content(2)


def test_a_delta_whose_base_cannot_be_seen_waits_for_the_key(
    laptop: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    remember(laptop)
    capture(laptop, {NOTE: CUT})
    old, redaction = laptop.bundle(6, 5), cut(laptop)
    other = Machine(tmp_path / "other", laptop.stick, key=laptop.key)
    other.log().redact(AGENT_ID, redaction.to_json())
    lock(laptop, monkeypatch)
    with pytest.raises(RemoteBusy, match="waits for your key"):
        other.log().push(AGENT_ID, old)


def test_a_machine_goes_on_writing_after_a_purge(laptop: Machine) -> None:
    numbers = remember(laptop)
    purge(laptop)
    numbers += laptop.write(2)
    capture(laptop, {NOTE: b"on and on\n"})
    numbers.append(laptop.push())
    assert leaks(laptop) == []
    expect_whole(laptop, numbers)


def test_a_second_purge_leaves_what_the_first_did(laptop: Machine) -> None:
    numbers = remember(laptop)
    purge(laptop)
    capture(laptop, {"raw/openclaw/LATER.md": CUT})
    numbers.append(laptop.push())
    purge(laptop)
    assert leaks(laptop) == []
    assert len(laptop.log().redactions(AGENT_ID)) == 2
    expect_whole(laptop, numbers)


def test_what_is_made_for_staying_small_holds_nothing_of_it(laptop: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_compaction, "MANY", 4)
    monkeypatch.setattr(log_compaction, "_SHARE", 1000)
    numbers = remember(laptop)
    purge(laptop)
    with laptop.vault() as vault:
        assert laptop.log().compact(AGENT_ID, VaultBundleSource(vault, None))
    assert leaks(laptop) == []
    expect_whole(laptop, numbers)


def test_states_of_a_machine_that_has_not_applied_it_are_not_taken_for_staying_small(
    laptop: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_compaction, "is_snapshot_due", lambda _: True)
    remember(laptop)
    laptop.log().redact(AGENT_ID, cut(laptop).to_json())
    with laptop.vault() as vault, pytest.raises(RemoteBusy):
        laptop.log().compact(AGENT_ID, VaultBundleSource(vault, None))


def test_a_large_artifact_goes_with_its_name(either: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_contents, "SEGMENT", 2)
    remember(either)
    body = SECRET.encode() * 9
    number = either.large(body).number
    either.push()
    with either.vault() as vault:
        found = next(item for item in vault.history() if item.path == "artifacts/canary.bin")
        sha256 = vault.state(number).entry("artifacts/canary.bin").sha256  # type: ignore[union-attr]
    assert sha256 is not None
    either.log().put_object(AGENT_ID, file_key(body), body)
    (either.agent_folder / "head.next.json").write_bytes((either.agent_folder / "head.json").read_bytes())
    either.write(3)  # the row that names it moves out of the head
    assert either.sealed or any(sha256.encode() in data for name, data in files(either) if name.startswith("rows-"))
    before = cut(either)
    replaced = {**before.leaves, found.leaf.digest: replacement_of(body, [ByteEdit(0, len(body))])}
    redaction = made(either, replaced, "record_purge")
    purge_here(either, redaction)
    either.log().redact(AGENT_ID, redaction.to_json())
    assert leaks(either) == []
    assert not [path for path in either.agent_folder.iterdir() if path.name.startswith("large-")]
    assert not any(sha256.encode() in data for _, data in files(either))
    with pytest.raises(UnknownAtRemote):
        either.log().put_object(AGENT_ID, file_key(body), body)


def test_a_log_that_was_written_anew_is_whole(laptop: Machine) -> None:
    numbers = remember(laptop)
    purge(laptop)
    with laptop.vault() as vault:
        found = laptop.log().verify(AGENT_ID, vault.state(numbers[-1]), bodies=9, chance=random.Random(1))
    assert found.findings == []


def test_a_list_of_purges_that_was_taken_away_is_found(laptop: Machine) -> None:
    numbers = remember(laptop)
    purge(laptop)
    (listed,) = laptop.agent_folder.glob("purges-*")
    listed.unlink()
    with laptop.vault() as vault:
        found = laptop.log().verify(AGENT_ID, vault.state(numbers[-1]), bodies=0, chance=random.Random(1))
    assert found.findings == [f"the file {listed.name} is missing on the remote"]


def test_a_purge_that_nobody_of_this_user_signed_is_refused(laptop: Machine, tmp_path: Path) -> None:
    remember(laptop)
    stranger = Machine(tmp_path / "stranger", tmp_path / "nowhere")
    with pytest.raises(RemoteRefused):
        laptop.log().redact(AGENT_ID, made(stranger, {bytes(32): None}, "record_purge").to_json())
    assert laptop.log().redactions(AGENT_ID) == []


def test_releases_that_know_of_no_purges_do_not_write_there(laptop: Machine) -> None:
    remember(laptop)
    assert json_codec.decode_json((laptop.agent_folder / "head.json").read_bytes())["version"] == 1
    purge(laptop)
    assert json_codec.decode_json((laptop.agent_folder / "head.json").read_bytes())["version"] == 2


# The whole agent ------------------------------------------------------------------------------------------------


def test_of_an_agent_that_was_purged_whole_the_signed_head_stays(either: Machine) -> None:
    remember(either)
    redaction = made(either, {}, WHOLE_AGENT)
    state = either.log().redact(AGENT_ID, redaction.to_json())
    assert [path.name for path in either.agent_folder.iterdir()] == ["head.json"]
    assert state.receipt is not None and state.receipt["remaining"] == 0 and state.receipt["objects"] == 6
    assert leaks(either) == []
    assert either.log().redactions(AGENT_ID) == [redaction.to_json()]
    assert not list((either.context.home.remotes_folder / "log-keys").glob("*"))


def test_an_agent_that_was_purged_whole_is_taken_no_more(laptop: Machine) -> None:
    remember(laptop)
    old = laptop.bundle(2)
    redaction = made(laptop, {}, WHOLE_AGENT)
    laptop.log().redact(AGENT_ID, redaction.to_json())
    log = laptop.log()
    for work in (
        lambda: log.agent(AGENT_ID),
        lambda: log.register(AGENT_ID, "ada", "openclaw"),
        lambda: log.push(AGENT_ID, old),
        lambda: log.redact(AGENT_ID, cut(laptop).to_json()),
    ):
        with pytest.raises(AgentErased) as erased:
            work()
        assert erased.value.redaction == redaction.to_json()
    assert log.agents() == []


@pytest.mark.parametrize("step", [CrashPoint.SEALED_HEAD_REPLACED, CrashPoint.SEALED_SWEPT])
def test_the_end_of_an_agent_that_was_cut_off_is_gone_on_with(laptop: Machine, step: CrashPoint) -> None:
    remember(laptop)
    redaction = made(laptop, {}, WHOLE_AGENT)
    assert killed_at(lambda: laptop.log().redact(AGENT_ID, redaction.to_json()), step)
    if not laptop.log().redactions(AGENT_ID):
        laptop.log().redact(AGENT_ID, redaction.to_json())
    assert [path.name for path in laptop.agent_folder.iterdir()] == ["head.json"]


def test_a_push_that_was_under_way_leaves_nothing_of_an_agent_that_was_purged_whole(
    laptop: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    remember(laptop)
    capture(laptop, {NOTE: CUT})
    late, log, redaction = laptop.bundle(6, 5), laptop.log(), made(laptop, {}, WHOLE_AGENT)
    put, names = FolderFiles.put, list[str]()

    def put_then_purge(files: FolderFiles, agent_id: str, name: str, source: BinaryIO) -> None:
        put(files, agent_id, name, source)
        if not names:
            names.append(name)
            laptop.log().redact(AGENT_ID, redaction.to_json())
            put(files, agent_id, "000000000006-aaaaaaaaaaaa.alf", BytesIO(CUT))

    monkeypatch.setattr(FolderFiles, "put", put_then_purge)
    with pytest.raises(AgentErased):
        log.push(AGENT_ID, late)
    laptop.log().redactions(AGENT_ID)
    assert [path.name for path in laptop.agent_folder.iterdir()] == ["head.json"]
