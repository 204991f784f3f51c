"""Every set-up in which an agent may be kept, round one machine: its vault on this disk and a second copy of every
kind. What lies in each of them is read in the same way."""

from __future__ import annotations

import contextlib
import io
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_core.purge import receipt_signing
from lifeboat_core.remotes import vault_bundles
from lifeboat_core.remotes.remote_kinds import open_remote
from lifeboat_endpoint.endpoint import Endpoint
from lifeboat_vault.remote.remote_contract import Remote
from support.adapters.canary_scan import Leak, Scanner
from support.alf.archive_files import ArchiveFile
from support.core.machines import Machine
from support.core.purged import owner_token
from support.core.replicated import Replicated, in_this_process
from support.endpoint.endpoint_servers import RunningEndpoint, running_endpoint

THIS_DISK = "this disk"
IN_PROCESS, HTTP, SEALED_ENDPOINT = "process", "http", "sealed"
SEALED_FOLDER, PLAIN_FOLDER = "stick", "plain"
SECOND_COPIES = (IN_PROCESS, HTTP, SEALED_ENDPOINT, SEALED_FOLDER, PLAIN_FOLDER)
EVERYWHERE = (THIS_DISK, *SECOND_COPIES)
ENDPOINTS = (IN_PROCESS, HTTP)
"""Those that can read: they keep an audit of their own."""
SCANNER = Scanner.of([])


class SetUps:
    """A machine with a second copy of every kind; `owners` are the second tokens of those that ask for one."""

    def __init__(self, machine: Machine, folder: Path, running: RunningEndpoint, blind: RunningEndpoint) -> None:
        self.machine = machine
        self.folder = folder
        self.running = running
        self.blind = blind
        self.owners = {IN_PROCESS: "its owner", HTTP: owner_token(running)}

    def push(self) -> None:
        for name in SECOND_COPIES:
            outcome = self.machine.push(name)
            assert outcome.state == "ok", (name, outcome)

    @contextlib.contextmanager
    def remote(self, name: str) -> Iterator[Remote]:
        with contextlib.closing(open_remote(self.machine.context, self.machine.remote(name))) as remote:
            yield remote

    def snapshot(self, name: str, number: int) -> bytes:
        """A state as an archive, as this place gives it."""
        context, agent_id = self.machine.context, self.machine.agent.id
        if name == THIS_DISK:
            with context.vault(agent_id) as vault, vault_bundles.make_snapshot(context, vault, number, None) as bundle:
                return bundle.file.read()
        with self.remote(name) as remote, remote.snapshot(agent_id, number).file as file:
            return file.read()

    def archive(self, name: str, number: int, path: Path) -> ArchiveFile:
        path.write_bytes(self.snapshot(name, number))
        return ArchiveFile(path)

    def deltas(self, name: str) -> Iterator[bytes]:
        """Every delta that this place gives, inflated."""
        context, agent_id = self.machine.context, self.machine.agent.id
        if name == THIS_DISK:
            with context.vault(agent_id) as vault, vault_bundles.make_delta(context, vault, 0, 1) as bundle:
                yield inflated(bundle.file.read())
            return
        with self.remote(name) as remote:
            for each in remote.deltas(agent_id, 0):
                with each.file as file:
                    yield inflated(file.read())

    def leaks(self, name: str) -> list[Leak]:
        """Where a canary still stands in what this place keeps: its files, and what opens them."""
        if name == THIS_DISK:
            return SCANNER.folders(self.machine.folder / "home")
        folders = {
            IN_PROCESS: self.folder / IN_PROCESS,
            HTTP: self.running.data,
            SEALED_ENDPOINT: self.blind.data,
            SEALED_FOLDER: self.folder / SEALED_FOLDER,
            PLAIN_FOLDER: self.folder / PLAIN_FOLDER,
        }
        return [*SCANNER.folders(folders[name]), *self._leaks_inside(name)]

    def _leaks_inside(self, name: str) -> Iterator[Leak]:
        if name in ENDPOINTS:
            data = self.folder / IN_PROCESS if name == IN_PROCESS else self.running.data
            with Endpoint.open(data) as endpoint:
                for tenant in endpoint.control.tenants():
                    space = endpoint.space(tenant.id)
                    for agent_id in space.agent_ids():
                        if not space.is_sealed(agent_id):
                            with space.vault(agent_id) as vault:
                                for item in vault.history():
                                    with contextlib.suppress(LookupError):
                                        yield from SCANNER.data(vault.read_object(item.object), f"{name} {item.path}")
            return
        with self.remote(name) as remote:
            log: Any = remote
            for stored in log._files.names(self.machine.agent.id):
                with log._files.read(self.machine.agent.id, stored.name) as source:
                    data = source.read()
                if stored.name.endswith(".age"):
                    with log._shelf.opened(stored.name, io.BytesIO(data)) as content:
                        data = content.read()
                yield from SCANNER.data(data, f"{name} {stored.name}")

    def audit(self, name: str, redaction: str) -> JsonObject:
        """The audit record of a purge as this place has it. What can read nothing keeps none: there the machine that
        wrote the files anew does, and has the list of purges and its receipt of this place."""
        if name in ENDPOINTS:
            data = self.folder / IN_PROCESS if name == IN_PROCESS else self.running.data
            with Endpoint.open(data) as endpoint:
                assert endpoint.control.check_audit() == []
                return self._of(endpoint.control.audit_rows(), redaction)
        kept = receipt_signing.find_receipt(self.machine.context, redaction)
        if name != THIS_DISK:
            note = kept.vault(self.machine.remote(name).id)
            assert note is not None and note.state == receipt_signing.DONE
            return dict(kept.audit)
        with self.machine.context.vault(self.machine.agent.id) as vault:
            assert vault.check_audit() == []
            found = self._of(vault.audit_rows(), redaction)
        assert found == kept.audit
        return found

    def _of(self, rows: Any, redaction: str) -> JsonObject:
        found = [row.details for row in rows if row.kind == "purge" and row.subject == redaction]
        assert len(found) == 1
        return {field: value for field, value in found[0].items() if field != "tenant"}


def inflated(bundle: bytes) -> bytes:
    with zipfile.ZipFile(io.BytesIO(bundle)) as archive:
        return b"".join(archive.read(name) for name in archive.namelist())


@contextlib.contextmanager
def every_kind(machine: Machine, folder: Path) -> Iterator[SetUps]:
    """Round a machine whose agent is added, in a `folder` of its own."""
    folder.mkdir(parents=True, exist_ok=True)
    agent = Replicated(machine)
    with (
        running_endpoint(folder / HTTP, plain=True) as running,
        running_endpoint(folder / SEALED_ENDPOINT, plain=True) as blind,
        pytest.MonkeyPatch.context() as patch,
        in_this_process(agent, folder / IN_PROCESS, patch, IN_PROCESS),
    ):
        machine.add_remote(HTTP, running.url, token=running.token)
        machine.add_remote(SEALED_ENDPOINT, blind.url, token=blind.token, sealed=True)
        for name in (SEALED_FOLDER, PLAIN_FOLDER):
            (folder / name).mkdir()
            machine.add_remote(name, (folder / name).as_uri(), sealed=name == SEALED_FOLDER)
        yield SetUps(machine, folder, running, blind)
