"""ALF §10.14: hard deletion at an endpoint, in this process and over HTTP."""

from __future__ import annotations

import hashlib
import io
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from lifeboat_alf.archive import archive_layout
from lifeboat_alf.common import json_codec
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.redaction.redactions import Redaction
from lifeboat_alf.states.agent_state import Record
from lifeboat_alf.testing.sample_states import (
    first_day,
    make_head,
    make_identity,
    make_principals,
    make_record,
    quarter_file,
)
from lifeboat_core.home.context import Context
from lifeboat_core.remotes import manage_remotes
from lifeboat_core.remotes.remote_kinds import open_remote
from lifeboat_endpoint.endpoint import Endpoint
from lifeboat_vault.errors import AgentErased
from lifeboat_vault.remote.checks.remote_trial import NAME, TrialMachine
from lifeboat_vault.remote.remote_contract import Remote, RemoteDescription
from lifeboat_vault.rows.sequence_rows import AuditRow
from lifeboat_vault.vault import Draft, EntryPut, RecordPut
from support.alf.archive_files import ArchiveFile
from support.endpoint.endpoint_purges import erasing, machine_in, redaction_of
from support.endpoint.endpoint_servers import running_endpoint
from support.endpoint.in_process_remote import InProcessRemote

OLDER, OLD, NOW = "2026-02-04T08:00:00.000Z", "2026-05-04T08:00:00.000Z", "2026-11-20T12:00:00.000Z"
SEALED = {quarter_file(OLDER): "2026-03-31", quarter_file(OLD): "2026-06-30"}


class Tenant:
    """An endpoint with one tenant, as its machines use it, and the token of its owner."""

    def __init__(self, data: Path, remote: Remote, owner: str) -> None:
        self.data = data
        self.remote = remote
        self.owner = owner

    def audit(self) -> list[AuditRow]:
        with Endpoint.open(self.data) as endpoint:
            return [row for row in endpoint.control.audit_rows() if row.kind == "purge"]

    def purge(self, machine: TrialMachine, redaction: Redaction) -> None:
        state = self.remote.redact(machine.agent_id, redaction.to_json(), owner=self.owner)
        assert state.receipt is not None
        assert state.receipt["remaining"] == 0

    def fetched(self, machine: TrialMachine, path: Path, number: int | None = None) -> ArchiveFile:
        with self.remote.snapshot(machine.agent_id, number).file as file:
            path.write_bytes(file.read())
        return ArchiveFile(path)


@pytest.fixture(params=["in process", "HTTP"], scope="module")
def tenant(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tenant]:
    folder = tmp_path_factory.mktemp("endpoint")
    if request.param == "in process":
        with Endpoint.create(folder / "data", key_source=f"file:{folder / 'key'}") as made:
            space = made.space(made.add_tenant("home").id)
            yield Tenant(
                folder / "data",
                InProcessRemote(space, RemoteDescription(made.id, "in process", "0", False)),
                "its owner",
            )
        return
    with running_endpoint(folder) as running:
        home = {"LIFEBOAT_HOME": str(folder / "lifeboat"), "HOME": "/nonexistent"}
        context = Context.open(home)
        config = manage_remotes.add_remote(context, "home", manage_remotes.parse_remote_access(running.join))[0]
        remote = open_remote(context, config)
        with Endpoint.open(running.data) as endpoint:
            owner = endpoint.control.add_token(endpoint.control.tenants()[0].id, "owner", ["purge"])[1]
        yield Tenant(running.data, remote, owner)
        remote.close()


@pytest.fixture
def machine(tmp_path: Path, tenant: Tenant) -> Iterator[TrialMachine]:
    """A hundred records in a sealed quarter, three in an older one, two in the current one; and a second state."""
    made = machine_in(tmp_path)
    files = [quarter_file(OLDER), quarter_file(OLD), quarter_file(NOW)]
    listed = [{"file": f, "from": first_day(f), "to": SEALED.get(f), "sealed": f in SEALED} for f in files]
    documents: JsonObject = {
        archive_layout.MANIFEST: make_head(made.agent_id, name=NAME, partitions=listed),
        archive_layout.IDENTITY: make_identity(),
        archive_layout.PRINCIPALS: make_principals(),
    }
    facts = [(OLDER, f"Older fact {number}.") for number in range(3)]
    facts += [(OLD, f"Old fact number {number:03}.") for number in range(100)]
    facts += [(NOW, f"Fact of today {number}.") for number in range(2)]
    lines = [make_record(text, created_at=day, agent_id=made.agent_id) for day, text in facts]
    puts = [
        RecordPut("create", line["id"], quarter_file(day), json_codec.encode_json(line))
        for (day, _), line in zip(facts, lines, strict=True)
    ]
    entries: dict[str, EntryPut | None] = {
        path: EntryPut({}, json_codec.encode_pretty(body)) for path, body in documents.items()
    }
    made.vault.commit(Draft(entries, puts), kind="capture", writer=made.device.id, time=NOW, sign=made.sign)
    tenant.remote.register(made.agent_id, NAME, "openclaw")
    tenant.remote.push(made.agent_id, made.snapshot())
    late = make_record("Late fact.", created_at=NOW, agent_id=made.agent_id)
    note = EntryPut({}, b"a note")
    put = RecordPut("create", late["id"], quarter_file(NOW), json_codec.encode_json(late))
    draft = Draft({"raw/openclaw/NOTE.md": note}, [put])
    made.vault.commit(draft, kind="capture", writer=made.device.id, time=NOW, sign=made.sign)
    tenant.remote.push(made.agent_id, made.delta(0))
    yield made
    made.vault.close()


def records_of(machine: TrialMachine, *contents: str) -> list[Record]:
    wanted = [f'"{content}"'.encode() for content in contents]
    return [each for each in machine.vault.state().records() if any(content in each.line for content in wanted)]


def partition(archive: ArchiveFile, day: str) -> JsonObject:
    return next(item for item in archive.partitions if item["file"] == quarter_file(day))


GONE = ("Old fact number 007.", "Old fact number 050.", "Old fact number 099.")


def test_all_of_an_agent_is_destroyed_at_an_endpoint(tenant: Tenant, machine: TrialMachine) -> None:
    redaction = erasing(machine, partitions_affected=(*SEALED, quarter_file(NOW)))
    tenant.purge(machine, redaction)
    for work in (tenant.remote.snapshot, tenant.remote.keys, tenant.remote.agent):
        with pytest.raises(AgentErased):
            work(machine.agent_id)
    left = [path for path in tenant.data.rglob("*") if machine.agent_id in path.as_posix()]
    assert left == []
    row = tenant.audit()[-1]
    assert (row.subject, row.details["scope"]) == (redaction.id, "full_agent")
    assert "record_ids" not in row.details
    assert "fact" not in str(row.details)


def test_three_of_a_hundred_records_are_purged_at_an_endpoint(
    tenant: Tenant, machine: TrialMachine, tmp_path: Path
) -> None:
    records = records_of(machine, *GONE)
    tenant.purge(machine, redaction_of(machine, *records))
    archive = tenant.fetched(machine, tmp_path / "purged.alf")
    found = partition(archive, OLD)
    data = archive.bodies[found["file"]]
    assert found["record_count"] == len(archive.lines(found["file"])) == 97
    assert found["checksum"] == f"sha256:{hashlib.sha256(data).hexdigest()}"
    assert not [each.id for each in records if each.id.encode() in data]
    assert sorted(tenant.audit()[-1].details["record_ids"]) == sorted(each.id for each in records)


def test_records_of_two_partitions_are_purged_at_an_endpoint(
    tenant: Tenant, machine: TrialMachine, tmp_path: Path
) -> None:
    redaction = redaction_of(machine, *records_of(machine, "Old fact number 001.", "Older fact 2."))
    tenant.purge(machine, redaction)
    archive = tenant.fetched(machine, tmp_path / "purged.alf", 0)
    assert [partition(archive, day)["record_count"] for day in (OLDER, OLD)] == [2, 99]
    assert sorted(tenant.audit()[-1].details["partitions_affected"]) == sorted(SEALED)


def test_a_record_of_the_current_partition_is_purged_at_an_endpoint(
    tenant: Tenant, machine: TrialMachine, tmp_path: Path
) -> None:
    [gone] = records_of(machine, "Fact of today 1.")
    tenant.purge(machine, redaction_of(machine, gone))
    archive = tenant.fetched(machine, tmp_path / "purged.alf")
    assert partition(archive, NOW)["record_count"] == 2
    assert gone.id not in archive.bodies[quarter_file(NOW)].decode()


def test_deltas_of_an_endpoint_hold_no_purged_record(tenant: Tenant, machine: TrialMachine) -> None:
    [gone] = records_of(machine, "Late fact.")
    tenant.purge(machine, redaction_of(machine, gone))
    for each in tenant.remote.deltas(machine.agent_id, 0):
        with each.file as file, zipfile.ZipFile(io.BytesIO(file.read())) as archive:
            inflated = b"".join(archive.read(name) for name in archive.namelist())
        assert b"Late fact." not in inflated


def test_who_knows_the_hash_of_a_partition_sees_that_it_was_replaced(
    tenant: Tenant, machine: TrialMachine, tmp_path: Path
) -> None:
    before = partition(tenant.fetched(machine, tmp_path / "before.alf", 0), OLD)["checksum"]
    untouched = partition(tenant.fetched(machine, tmp_path / "before.alf", 0), OLDER)["checksum"]
    tenant.purge(machine, redaction_of(machine, *records_of(machine, *GONE)))
    after = tenant.fetched(machine, tmp_path / "after.alf", 0)
    assert partition(after, OLD)["checksum"] != before
    assert partition(after, OLDER)["checksum"] == untouched


def test_the_audit_of_an_endpoint_tells_of_a_purge_and_nothing_of_the_content(
    tenant: Tenant, machine: TrialMachine
) -> None:
    records = records_of(machine, *GONE)
    redaction = redaction_of(machine, *records)
    tenant.purge(machine, redaction)
    details = dict(tenant.audit()[-1].details)
    assert details.pop("tenant") and details.pop("completed_at")
    assert details == {
        "purge_id": redaction.id,
        "agent_id": machine.agent_id,
        "scope": "record_purge",
        "record_ids": list(redaction.record_ids),
        "partitions_affected": [quarter_file(OLD)],
        "reason": "user_request",
        "requested_at": redaction.requested_at,
        "requested_by": "a test",
    }
    with Endpoint.open(tenant.data) as endpoint:
        assert endpoint.control.check_audit() == []
