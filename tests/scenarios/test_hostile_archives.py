"""Archives made by somebody who wants more than to be read: to write elsewhere, to run, to get at secrets."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lifeboat_alf.errors import LifeboatError
from lifeboat_alf.snapshot import write_snapshot
from lifeboat_alf.testing.sample_states import AGENT_ID, MemoryState
from lifeboat_core import exchange
from lifeboat_core.agents import manage_agents
from lifeboat_core.capture.capture_run import capture_agent
from lifeboat_core.errors import RestoreError
from lifeboat_core.exchange import ImportReport
from lifeboat_core.home.lifeboat_home import Home
from lifeboat_core.restore import RestoreOptions, disk_names, restore_agent
from support.alf.archive_files import ArchiveFile, edit
from support.alf.raising import raises_code
from support.core.protected import Protected

RAW, OWN = "raw/openclaw/", "raw/openclaw-home/"
Make = Callable[[MemoryState], Any]
EVERYWHERE = "../../../../../.."


class Harbour:
    """A machine on which ada runs; `around` is everything on it but Lifeboat's home."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.ada = Protected(folder / "machine")
        self.workspace = folder / "machine" / "new" / "workspace"

    def archive(self, state: MemoryState) -> Path:
        path = self.folder / "hostile.alf"
        with path.open("wb") as out:
            write_snapshot(state, out)
        return path

    def import_(self, state: MemoryState, **options: Any) -> ImportReport:
        chosen = {"accept_unsigned": True, **options}
        return exchange.import_archive(
            self.ada.context, self.archive(state), self.workspace, RestoreOptions(runtime="openclaw", **chosen)
        )

    def around(self) -> dict[str, bytes]:
        home = self.folder / "machine" / "home"
        return {
            str(path): os.readlink(path).encode() if path.is_symlink() else path.read_bytes()
            for path in (self.folder / "machine").rglob("*")
            if not path.is_relative_to(home) and (path.is_file() or path.is_symlink())
        }


@pytest.fixture
def machine(tmp_path: Path) -> Harbour:
    return Harbour(tmp_path)


def state_with(path: str | None = None, body: bytes = b"x", **meta: Any) -> MemoryState:
    state = MemoryState()
    state.put(f"{RAW}SOUL.md", b"# Soul\n")
    return state if path is None else state.put(path, body, **meta)


def _behind_a_link(link: str, target: str, file: str) -> MemoryState:
    return state_with(link, b"", type="link", target=target).put(file, b"x")


REFUSED = {
    "a name that climbs": state_with(f"{RAW}a.md", name_hex=b"../../evil".hex()),
    "an absolute name": state_with(f"{RAW}a.md", name_hex=b"/tmp/evil".hex()),
    "a name other than the path says": state_with(f"{RAW}a.md", name_hex=b"hooks/run.sh".hex()),
    "a name with a zero byte": state_with(f"{RAW}a.md", name_hex=b"a\0b".hex()),
    "a name that is no hexadecimal": state_with(f"{RAW}a.md", name_hex="zz"),
    "a file behind a link": _behind_a_link(f"{RAW}d", EVERYWHERE, f"{RAW}d/evil"),
    "an artifact behind a link": _behind_a_link("artifacts/d", "/etc", "artifacts/d/evil"),
    "an artifact behind a link of the runtime": _behind_a_link(f"{RAW}d", "memory", "artifacts/d/evil"),
    "a file of the home behind a link": _behind_a_link(f"{OWN}skills/d", EVERYWHERE, f"{OWN}skills/d/evil"),
    "a file behind a file": state_with(f"{RAW}d").put(f"{RAW}d/evil", b"x"),
    "a link to nothing": state_with(f"{RAW}d", b"", type="link", target=""),
    "the file is a link, but its target is missing": state_with(f"{RAW}d", b"", type="link"),
    "a link to a list": state_with(f"{RAW}d", b"", type="link", target=["x"]),
    "a link with a zero byte": state_with(f"{RAW}d", b"", type="link", target="x\0y"),
    "a time that is none": state_with(f"{RAW}a.md", mtime_ns="soon"),
    "a time beyond all times": state_with(f"{RAW}a.md", mtime_ns="9" * 40),
    "a kind that is a number": state_with(f"{RAW}a.md", type=5),
    "an execute bit that is text": state_with(f"{RAW}a.md", executable="no"),
    "cuts that are text": state_with(f"{RAW}a.md", cuts=["x"]),
    "cuts without a place": state_with(f"{RAW}a.md", cuts=[{"credential_id": "x"}]),
    "memories that are objects": state_with(f"{RAW}a.md", records=[{"a": 1}]),
    "a name longer than any": state_with(RAW + "x" * 300),
    "a number beyond all numbers": MemoryState(number=1 << 70).put(f"{RAW}SOUL.md", b"x"),
}


@pytest.mark.parametrize("state", REFUSED.values(), ids=REFUSED.keys())
def test_it_is_refused_before_anything_is_written(machine: Harbour, state: MemoryState) -> None:
    before = machine.around()
    with pytest.raises(LifeboatError):
        machine.import_(state)
    assert machine.around() == before
    assert not machine.workspace.exists()
    assert manage_agents.list_agents(machine.ada.context) == []


@pytest.mark.parametrize("agent_id", ["../../pwned", "{folder}/pwned", "ada", AGENT_ID.upper(), ".", ""])
def test_an_agent_id_never_names_a_place(machine: Harbour, tmp_path: Path, agent_id: str) -> None:
    state = MemoryState(agent_id=agent_id.format(folder=tmp_path / "machine")).put(f"{RAW}SOUL.md", b"# Soul\n")
    before = machine.around()
    report = machine.import_(state)
    written = {path: body for path, body in machine.around().items() if path not in before}
    assert written == {str(machine.workspace / "SOUL.md"): b"# Soul\n"}
    assert [agent.id for agent in manage_agents.list_agents(machine.ada.context)] == [report.agent]
    assert report.copied_from == state.sequence.agent_id


def test_the_home_names_no_file_after_what_is_no_id(tmp_path: Path) -> None:
    for make in (Home(tmp_path).vault_folder, Home(tmp_path).agent_file, Home(tmp_path).state_file):
        with pytest.raises(LifeboatError):
            make("../../pwned")


LEADS_OUT = ("/etc/passwd", "../../secret", "./../../secret", "here/../../secret", "here/../secret", "memory/../../x")


@pytest.mark.parametrize("target", LEADS_OUT)
def test_links_that_lead_out_are_not_made(machine: Harbour, target: str) -> None:
    state = state_with(f"{RAW}here", b"", type="link", target=".").put(f"{RAW}out", b"", type="link", target=target)
    report = machine.import_(state)
    assert not os.path.lexists(machine.workspace / "out")
    assert [item["name"] for item in report.restored.skipped] == ["out"]


@pytest.mark.parametrize("target", ["SOUL.md", "./SOUL.md", "../SOUL.md", "../notes/b.md", "x/y"])
def test_links_that_stay_inside_are_made(tmp_path: Path, target: str) -> None:
    assert not disk_names.leaves_folder("notes/a", target, tmp_path)


# The runtime's own folder ---------------------------------------------------------------------------------------------


@pytest.fixture
def beside(machine: Harbour) -> Harbour:
    """The archive goes into a workspace inside OpenClaw's own folder, beside that of another agent."""
    machine.ada.write_config('{ agents: { defaults: { workspace: "workspace" } } }')
    machine.workspace = machine.ada.state_dir / "workspace-new"
    return machine


OTHERS = (
    "workspace/HEARTBEAT.md",
    "credentials/whatsapp.json",
    "agents/main/agent/auth-profiles.json",
    "extensions/evil/index.js",
    "openclaw.json/evil",
    "openclaw.json",
)


@pytest.mark.parametrize("name", OTHERS)
def test_nothing_of_the_runtime_is_replaced_or_joined(beside: Harbour, name: str) -> None:
    before = beside.around()
    beside.import_(state_with(OWN + name, b'{ "evil": true }'))
    after = beside.around()
    assert {path: after.get(path) for path in before} == before
    assert set(after) - set(before) == {str(beside.workspace / "SOUL.md")}


def test_a_link_in_the_runtimes_folder_is_neither_followed_nor_moved(beside: Harbour, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    link = beside.ada.state_dir / "skills"
    link.symlink_to(tmp_path / "elsewhere")
    beside.import_(state_with(f"{OWN}skills/tide/SKILL.md"))
    assert os.readlink(link) == str(tmp_path / "elsewhere")
    assert list((tmp_path / "elsewhere").iterdir()) == []


# What could run, and what is secret -----------------------------------------------------------------------------------


def test_nothing_unsigned_is_written_without_consent_and_what_could_run_is_named(machine: Harbour) -> None:
    state = state_with(f"{RAW}notes.md", executable=True).put(f"{RAW}hooks/go", b"x").put(f"{OWN}openclaw.json", b"{}")
    with raises_code(RestoreError.UNSIGNED_STATE, match=r"notes\.md.*hooks/go|hooks/go.*notes\.md"):
        machine.import_(state, accept_unsigned=False)
    assert not machine.workspace.exists()


SECRET = "tide-key-0123456789abcdef"


@pytest.fixture
def exported(machine: Harbour) -> Path:
    """Ada's own archive, in which the key of her `.env` is sealed."""
    machine.ada.write(".env", f"TIDE_API_KEY={SECRET}\n", mode=0o600)
    machine.ada.add()
    path = machine.folder / "ada.alf"
    exchange.export_agent(machine.ada.context, "openclaw", machine.ada.workspace, path)
    return path


def _pointed_at_soul(file: ArchiveFile) -> dict[str, bytes | None]:
    """The placeholder and its cut stand in SOUL.md, as if the secret had been cut out there."""
    (cuts,) = file.json("lifeboat/cuts.json").values()
    body = b"{{lifeboat:credential:%b}}" % cuts[0]["credential_id"].encode()
    listed = b'{"raw/openclaw/SOUL.md": [{"offset": 0, "credential_id": "%b"}]}' % cuts[0]["credential_id"].encode()
    return {"raw/openclaw/SOUL.md": body, "lifeboat/cuts.json": listed}


def _readable_by_all(file: ArchiveFile) -> dict[str, bytes | None]:
    return {"lifeboat/files.json": file.bodies["lifeboat/files.json"].replace(b'"private": true', b'"private": false')}


@pytest.mark.parametrize("change", [_pointed_at_soul, _readable_by_all])
def test_credentials_go_into_signed_states_only(
    machine: Harbour, exported: Path, change: Callable[[ArchiveFile], dict[str, bytes | None]]
) -> None:
    unsigned: dict[str, bytes | None] = {"lifeboat/signature.json": None, "lifeboat/leaves.bin": None}
    hostile = edit(exported, machine.folder / "hostile.alf", change(ArchiveFile(exported)) | unsigned)
    with raises_code(RestoreError.UNSIGNED_STATE, match="restores credentials only with a signed state"):
        exchange.import_archive(
            machine.ada.context,
            hostile,
            machine.workspace,
            RestoreOptions(runtime="openclaw", accept_unsigned=True, with_credentials=True),
        )
    exchange.import_archive(
        machine.ada.context, hostile, machine.workspace, RestoreOptions(runtime="openclaw", accept_unsigned=True)
    )
    assert SECRET.encode() not in b"".join(path.read_bytes() for path in machine.workspace.rglob("*"))


def test_what_was_accepted_unsigned_does_not_become_a_way_to_credentials(machine: Harbour, exported: Path) -> None:
    """An import is signed by this machine: the sealed payload still says which file it belongs to, whole. The file
    gets a gap."""
    changed = _pointed_at_soul(ArchiveFile(exported)) | {"lifeboat/signature.json": None, "lifeboat/leaves.bin": None}
    hostile = edit(exported, machine.folder / "hostile.alf", changed)
    report = exchange.import_archive(
        machine.ada.context, hostile, machine.workspace, RestoreOptions(runtime="openclaw", accept_unsigned=True)
    )
    agent = manage_agents.load_agent(machine.ada.context, report.agent)
    out = machine.folder / "machine" / "out"
    done = restore_agent(machine.ada.context, agent, RestoreOptions(to=out, with_credentials=True, reindex=False))
    assert (done.credentials, done.gaps) == ({"injected": 0, "skipped": 1}, ["raw/openclaw/SOUL.md"])
    assert SECRET.encode() not in b"".join(path.read_bytes() for path in out.rglob("*") if path.is_file())


def test_a_file_with_credentials_of_an_unsigned_state_is_private_from_then_on(machine: Harbour, exported: Path) -> None:
    unsigned: dict[str, bytes | None] = {"lifeboat/signature.json": None, "lifeboat/leaves.bin": None}
    hostile = edit(exported, machine.folder / "hostile.alf", _readable_by_all(ArchiveFile(exported)) | unsigned)
    report = exchange.import_archive(
        machine.ada.context, hostile, machine.workspace, RestoreOptions(runtime="openclaw", accept_unsigned=True)
    )
    out = machine.folder / "machine" / "out"
    agent = manage_agents.load_agent(machine.ada.context, report.agent)
    restore_agent(machine.ada.context, agent, RestoreOptions(to=out, with_credentials=True, reindex=False))
    assert (out / ".env").read_text() == f"TIDE_API_KEY={SECRET}\n"
    assert (out / ".env").stat().st_mode & 0o077 == 0


def test_a_placeholder_planted_in_a_note_stays_text(machine: Harbour) -> None:
    machine.ada.write(".env", f"TIDE_API_KEY={SECRET}\n", mode=0o600)
    machine.ada.add()
    credential = machine.ada.document("credentials.json")["credentials"][0]["id"]
    planted = f"Look: {{{{lifeboat:credential:{credential}}}}}\n"
    machine.ada.write("NOTES.md", planted)
    machine.ada.capture()
    out = machine.folder / "machine" / "out"
    restore_agent(machine.ada.context, machine.ada.agent, RestoreOptions(to=out, with_credentials=True, reindex=False))
    assert (out / "NOTES.md").read_text() == planted
    assert SECRET in (out / ".env").read_text()


# Documents with the wrong shape ---------------------------------------------------------------------------------------

ODD: dict[str, Make] = {
    "a runtime that is a path": lambda s: s.set_head(agent={"id": AGENT_ID, "name": "x", "source_runtime": "../../x"}),
    "a name with escape sequences": lambda s: s.set_head(
        agent={"id": AGENT_ID, "name": "\x1b]0;x\x07../..", "source_runtime": "openclaw"}
    ),
    "a name that is a list": lambda s: s.set_head(agent={"id": AGENT_ID, "name": ["x"], "source_runtime": ["x"]}),
    "raw states that are text": lambda s: s.set_head(raw_state={"openclaw": "x", "zeroclaw": 5}),
    "capabilities that are text": lambda s: s.put("identity.json", b'{"structured": {"capabilities": "x"}}'),
    "an identity that says nothing": lambda s: s.put("identity.json", b'{"structured": null, "prose": 5}'),
    "credentials that are numbers": lambda s: s.put("credentials.json", b'{"credentials": [5, {"id": ["x"]}]}'),
    "credentials that are text": lambda s: s.put("credentials.json", b'{"credentials": "x"}'),
    "principals that are numbers": lambda s: s.put("principals.json", b'{"principals": [5]}'),
    "partitions that are text": lambda s: s.set_head(partitions="x"),
    "a record that supersedes a list": lambda s: s.add(
        {
            "id": "a",
            "content": "x",
            "supersedes": ["b"],
            "status": 7,
            "temporal": {"created_at": "2026-11-01T00:00:00Z"},
        }
    ),
}


@pytest.mark.parametrize("make", ODD.values(), ids=ODD.keys())
def test_a_document_of_another_shape_is_refused_or_carried_never_a_crash(machine: Harbour, make: Make) -> None:
    state = state_with()
    try:
        make(state)
        report = machine.import_(state)
        agent = manage_agents.load_agent(machine.ada.context, report.agent)
        machine.ada.clock.advance(minutes=1)
        capture_agent(machine.ada.context, agent)
    except LifeboatError:
        return
    assert (machine.workspace / "SOUL.md").read_bytes() == b"# Soul\n"
