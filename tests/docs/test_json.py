"""docs/json.md is the contract: it has every field that a command writes, and no other field."""

from __future__ import annotations

import io
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_cli.endpoint import endpoint_serve
from lifeboat_core.agents.agent import find_agent
from lifeboat_core.grants.agent_grant import check_grant
from lifeboat_core.grants.proposal_requests import begin_session
from lifeboat_core.grants.proposal_run import make_proposal
from lifeboat_core.grants.proposals import Request
from lifeboat_core.home.context import Context
from lifeboat_daemon.service.event_log import open_log
from lifeboat_endpoint.endpoint import Endpoint
from lifeboat_endpoint.server.serving import ServedEndpoint
from lifeboat_vault.remote import conformance_checks
from support.adapters import openclaw_workspaces
from support.adapters.fake_openclaw import FakeOpenClaw
from support.adapters.openclaw_workspaces import StateFolder
from support.adapters.profile_installs import make_nanobot
from support.cli.cli_client import run
from support.core.purge_receipt_home import Purged
from support.daemon.fake_systemctl import FakeSystemctl
from support.docs import json_page
from support.endpoint.endpoint_purges import machine_in, pushed, record_of, redaction_of
from support.endpoint.keeping import AGENT as ENDPOINT_AGENT
from support.endpoint.keeping import with_history
from support.talking_server import status, talking_server

PAGE = json_page.PAGE


def _sections() -> dict[str, list[str]]:
    """Return documented fields by heading."""
    found: dict[str, list[str]] = {}
    for part in re.split(r"^## ", PAGE.read_text(), flags=re.MULTILINE)[1:]:
        heading, _, text = part.partition("\n")
        cells = [line.split(" | ") for line in text.splitlines() if line.startswith("| `")]
        fields = [
            cell
            for row in cells
            for cell in row[:-1]
            if not cell.startswith(
                ("| `agents ", "| `keys ", "| `daemon ", "| `service ", "| `endpoint ", "| `remote ")
            )
        ]
        fields += re.findall(r"^- ((?:`[^`]+`(?:, )?)+): ", text, flags=re.MULTILINE)
        found[heading] = [name for cell in fields for name in re.findall(r"`([^`]+)`", cell)]
    return found


def _cut_documents(name: str, workspace: Path) -> Iterator[tuple[str, JsonObject]]:
    note = workspace / "memory" / "key.md"
    note.parent.mkdir(exist_ok=True)
    note.write_text("Once it was ghp_0aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0dE3fG.\n")
    run("sync")
    yield "An agent", run("agents", "cut", name, "memory/key.md")
    yield "An agent", run("agents", "uncut", name, "memory/key.md", "--yes")
    note.unlink()
    run("sync")


def _fields(value: object, path: str = "") -> Iterator[str]:
    """Yield the paths of everything in a document. Empty lists and objects count as fields themselves."""
    if isinstance(value, dict) and value:
        for name, item in value.items():
            yield from _fields(item, f"{path}.{name}" if path else name)
    elif isinstance(value, list):
        yield f"{path}[]"
        for item in value:
            if isinstance(item, dict | list):
                yield from _fields(item, f"{path}[]")
    else:
        yield path


def _covers(documented: str, actual: str) -> bool:
    """Return whether a documented field covers an actual one: the same field, a part of an object, or a key that
    varies."""
    plain = documented.removesuffix(".*")
    return (
        actual in (plain, f"{plain}[]")
        or actual.startswith((f"{plain}.", f"{plain}["))
        or plain.startswith(f"{actual}")
    )


@pytest.fixture(scope="module")
def documents(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[str, JsonObject]]:
    """Run every command once and return what each wrote, with the heading that documents it."""
    home = tmp_path_factory.mktemp("documented")
    home.chmod(0o700)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(home))
        patch.setenv("LIFEBOAT_HOME", str(home / "lifeboat"))
        return list(_documents(_openclaw(home), tmp_path_factory.mktemp("written")))


def _openclaw(home: Path) -> StateFolder:
    made = openclaw_workspaces.make_state_dir(home / ".openclaw", large=True)
    run("agents", "add", made.workspace)
    memory = made.workspace / "MEMORY.md"
    memory.write_text(memory.read_text() + "\n## Ink\n\nBuy ink for the plotter.\n")
    run("sync")
    return made


def _documents(openclaw: StateFolder, folder: Path) -> Iterator[tuple[str, JsonObject]]:
    """Yield what every command writes, with the heading that documents it."""
    name, workspace = "Juniper", openclaw.workspace
    yield "`lifeboat agents discover`", run("agents", "discover")
    yield "An agent", run("agents", "show", name)
    yield "An agent", run("agents", "pause", name)
    yield "An agent", run("agents", "resume", name)
    yield from _grant_documents(name)
    yield "An agent", run("agents", "accept", name)
    yield "An agent", run("agents", "add", openclaw.workspaces["rover"])
    yield "An agent", run("agents", "list")
    yield from _hook_documents(folder)
    yield from _cut_documents(name, workspace)
    yield "An agent", _cloned(workspace, folder / "clone")
    yield "An agent", run("agents", "remove", folder / "clone", "--yes")
    settings = run("config", "list")
    yield "`lifeboat config list`, `get`, `set`", {**settings["settings"][0], "problem": settings["problem"]}
    yield "`lifeboat config list`, `get`, `set`", run("config", "get", "cadence")
    yield "`lifeboat config list`, `get`, `set`", run("config", "get", "ping.url")
    yield "`lifeboat config list`, `get`, `set`", run("config", "set", "cadence", "manual")
    yield "`lifeboat config check`", run("config", "check", "cadence", "manual")
    yield "`lifeboat status`", run("status")
    yield from _key_documents(folder)
    yield "`lifeboat doctor`", run("doctor")
    yield "`lifeboat doctor`", run("doctor", "--bundle", folder / "report.zip")
    (workspace / "BOOT.md").write_text("# BOOT\n\n- Nothing.\n")
    yield "`lifeboat sync`", run("sync")
    yield "`lifeboat timeline`", run("timeline", name)
    yield "`lifeboat label`", run("label", name, "1", "before the move")
    yield "`lifeboat diff`", run("diff", name, "0", "1")
    yield "`lifeboat blame`", run("blame", name, "MEMORY.md")
    hits = run("search", name, "plotter", "ink")
    yield "`lifeboat search`", hits
    yield "`lifeboat search`", run("search", name, "ink", "--history")
    yield "`lifeboat search`", run("search", name, "ink", "--for-agent")
    yield "`lifeboat records list`", run("records", "list", name)
    yield "`lifeboat records show`", run("records", "show", name, hits["hits"][0]["id"])
    memory = workspace / "MEMORY.md"
    memory.write_text(memory.read_text().replace("Buy ink", "Buy much ink"))
    run("sync")
    changed = run("search", name, "much", "ink")["hits"][0]["id"]
    yield "`lifeboat review`", run("review", name)
    yield "`lifeboat review`", run("review", name, "--approve", changed)
    yield "`lifeboat review`", run("review", "--count")
    yield "`lifeboat review`", run("review", "--approve-all")
    yield "`lifeboat records undo`", run("records", "undo", name, changed, "--dry-run")
    yield "`lifeboat records undo`", run("records", "undo", name, changed)
    yield "`lifeboat verify`", run("verify", name)
    yield from _profile_documents(folder)
    yield "`lifeboat restore`, `undo`, `alf import`", run("restore", name, "--to", folder / "new", "--dry-run")
    yield "`lifeboat restore`, `undo`, `alf import`", run("restore", name, "--at", "0", "--yes")
    yield "`lifeboat restore`, `undo`, `alf import`", run("undo", name)
    yield from _moving_documents(folder, name)
    yield from _purge_documents(workspace, folder)
    yield "`lifeboat log`", run("log")
    yield from _service_documents(folder)
    yield from _file_documents(workspace, folder)
    yield from _rotation_documents(folder)
    yield from _endpoint_documents(folder)
    yield from _remote_documents(folder)
    yield from _receipt_documents(folder)


def _grant_documents(name: str) -> Iterator[tuple[str, JsonObject]]:
    """Yield what is written about a grant and two proposals."""
    yield "An agent", run("agents", "grant", name, "--expires", "2h")
    context = Context.open()
    agent = find_agent(context, name)
    with context.vault(agent.id) as vault:
        grant = check_grant(vault, name, context.now())
        session = begin_session(agent, grant, vault, context.now())
        for request in (Request("label", 0, label="the beginning"), Request("restore_file", 0, path="MEMORY.md")):
            make_proposal(context, vault, session, grant, request)
    one = "`lifeboat proposals`"
    yield "`lifeboat status`", run("status")
    yield "An agent", run("agents", "show", name)
    yield one, run("proposals", "list")
    yield one, run("proposals", "show", name, "2")
    yield one, run("proposals", "accept", name, "1", "--yes")
    yield one, run("proposals", "reject", name, "2")
    run("label", name, "0", "--remove")
    yield "An agent", run("agents", "revoke", name)


def _profile_documents(folder: Path) -> Iterator[tuple[str, JsonObject]]:
    made = make_nanobot(folder / "profiles")
    yield "`lifeboat profiles list`", run("profiles", "list")
    shown = run("profiles", "show", "nanobot")
    yield "`lifeboat profiles show`", shown
    (folder / "nanobot.toml").write_text(shown["text"])
    yield "`lifeboat profiles test`", run("profiles", "test", folder / "nanobot.toml", made.workspace)


def _receipt_documents(folder: Path) -> Iterator[tuple[str, JsonObject]]:
    """Yield documents of a home in which something was purged, with a remote where it waits."""
    made = Purged(folder / "purged")
    one = "`lifeboat receipts show`, `verify`, `confirm`, `export`"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LIFEBOAT_HOME", str(made.context.home.folder))
        yield "`lifeboat status`", run("status")
        yield one, run("receipts", "show", made.receipt.id)
        yield one, run("receipts", "show", made.receipt.id, "--audit")
        yield one, run("receipts", "export", made.receipt.id, "-o", folder / "receipt.json")
        yield one, run("receipts", "verify", folder / "receipt.json")
        yield one, {"id": made.receipt.id, "vault": run("receipts", "list")["receipts"][0]["vaults"][0]}
        (folder / "purged/home/vault/receipts/01900000-0000-7000-8000-00000000000b.json").write_text("{")
        yield "`lifeboat receipts list`", run("receipts", "list")


def _hook_documents(folder: Path) -> Iterator[tuple[str, JsonObject]]:
    fake = FakeOpenClaw.install(folder / "bin")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", f"{fake.folder}:/usr/bin:/bin")
        yield "An agent", run("agents", "hook", "Juniper")
        yield "An agent", run("agents", "hook", "Juniper", "--remove")


def _moving_documents(folder: Path, name: str) -> Iterator[tuple[str, JsonObject]]:
    stick = folder / "stick"
    stick.mkdir()
    run("remote", "add", "stick", f"file://{stick}/copies")
    run("sync")
    yield "An agent", run("agents", "list", "--remote", "stick")
    yield "`lifeboat keys`", run("keys", "export-kit", "-o", folder / "kit-with-stick")
    yield "`lifeboat setup`", run("setup", "--kit", folder / "kit-with-stick", "--yes")
    yield "`lifeboat verify`", run("verify", name, "--remote", "stick")
    yield "An agent", run("agents", "adopt", name, "--dry-run")
    yield "An agent", run("agents", "adopt", name, "--yes")
    run("remote", "remove", "stick", "--yes")


def _service_documents(folder: Path) -> Iterator[tuple[str, JsonObject]]:
    """Yield documents with a service manager that starts nothing. The daemon's own answers are on the page of the
    control socket."""
    with open_log(Context.open().home, foreground=False) as log:
        log.event("started")
    yield "`lifeboat daemon`", {"how": "process", **run("daemon", "status", expect=1)}
    yield "`lifeboat daemon`", run("daemon", "stop")
    yield "`lifeboat daemon`", run("daemon", "log")
    fake = FakeSystemctl(folder / "systemd")
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("PATH", fake.path)
        yield "`lifeboat setup`", run("setup", "--yes")
        yield "`lifeboat setup`", _from_alf_document(folder)
        for words in (("install", "--print"), ("install", "--no-start"), ("status",), ("uninstall",)):
            yield "`lifeboat service`", run("service", *words)


def _from_alf_document(folder: Path) -> JsonObject:
    """Return the document for one agent that was not found, and one invalid file."""
    state = folder / "former/.alf/state"
    state.mkdir(parents=True)
    (state / f"{ENDPOINT_AGENT}.toml").write_text("last_synced_sequence = 0\n")
    (state / "other.toml").write_text("")
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("ALF_HOME", str(folder / "former"))
        return run("setup", "--from-alf", expect=1)


def _endpoint_documents(folder: Path) -> Iterator[tuple[str, JsonObject]]:
    """Yield documents with a finding, and of an agent with a removed part."""
    data, source = folder / "endpoint", f"file:{folder / 'endpoint.key'}"
    heading = "`lifeboat endpoint`"
    yield heading, run("endpoint", "tenant", "add", "home", "--key-source", source, "--data", data)
    yield heading, endpoint_serve.describe_server(ServedEndpoint("https://192.0.2.7:8443", "", "192.0.2.7", 8443), None)
    with Endpoint.open(data) as endpoint:
        with_history(endpoint, endpoint.control.tenant("home"))
    token = run("endpoint", "token", "add", "home", "--data", data)
    yield heading, token
    for words in (
        ("tenant", "list"),
        ("accept", "home", ENDPOINT_AGENT),
        ("rotate-key",),
        ("compact",),
        ("token", "revoke", token["id"]),
        ("token", "list"),
        ("audit",),
        ("audit", "--check"),
    ):
        yield heading, run("endpoint", *words, "--data", data)
    yield from ((heading, document) for document in _waiting_documents(folder, data))
    data.chmod(0o755)
    yield heading, run("endpoint", "verify", "--data", data, expect=1)
    yield heading, run("endpoint", "doctor", "--data", data)
    exported = folder / "audit.jsonl"
    yield heading, run("endpoint", "audit", "--export", exported, "--data", data)
    exported.write_text(exported.read_text() + "cut off")
    yield heading, run("endpoint", "audit", "--check-file", exported, expect=1)
    yield heading, run("endpoint", "tenant", "remove", "home", "--yes", "--data", data)


def _waiting_documents(folder: Path, data: Path) -> Iterator[JsonObject]:
    """Yield documents of two purges, one of which is refused."""
    with Endpoint.open(data) as endpoint:
        space = endpoint.space(endpoint.control.tenant("home").id)
        machine = pushed(space, machine_in(folder))
        redactions = [redaction_of(machine, record_of(machine, number)) for number in (0, 1)]
        for redaction in redactions:
            space.redact(machine.agent_id, redaction.to_json())
    yield run("endpoint", "purges", "list", "--data", data)
    for word, redaction in zip(("confirm", "refuse"), redactions, strict=True):
        yield run("endpoint", "purges", word, redaction.id, "--data", data)


def _remote_documents(folder: Path) -> Iterator[tuple[str, JsonObject]]:
    """Yield documents of a server that claims to be an endpoint and fails every check."""
    token = b'{"tenant": "home", "name": "laptop", "scopes": ["pull", "push"], "expires_at": null}'
    answers = {"/version": b'{"id": "0a", "limits": {}}', "/token": token}
    heading = "`lifeboat remote`"
    with talking_server() as server, pytest.MonkeyPatch.context() as patched:
        server.replies = [lambda handler: status(200, answers.get(handler.path, b"[]"))(handler)]
        patched.setattr(conformance_checks, "CHECKS", conformance_checks.CHECKS[:2])
        for words in (("add", "home", server.address), ("token", "home")):
            patched.setattr(sys, "stdin", io.StringIO("lb_abcdefgh_secret"))
            yield heading, run("remote", *words, "--token-stdin")
        yield heading, run("remote", "list")
        yield heading, run("remote", "show", "home")
        yield heading, run("remote", "test", "home", expect=1)
        yield heading, run("remote", "remove", "home", "--yes")


def _purge_documents(workspace: Path, folder: Path) -> Iterator[tuple[str, JsonObject]]:
    run("remote", "add", "stick", (folder / "stick").as_uri())
    wanted = run("search", "Juniper", "plotter", "ink")["hits"][0]["id"]
    yield "`lifeboat purge`", run("purge", "Juniper", "--record", wanted, "--dry-run")
    (workspace / "ink.txt").write_text("Buy ink.\n")
    text = ("--text", "ink for the plotter", "--passage", "--workspace", "--yes")
    yield "`lifeboat purge`", run("purge", "Juniper", *text)
    yield "`lifeboat purge`", run("purge", "Juniper", "--let-in", "--dry-run")
    shutil.copytree(workspace, folder / "purged", symlinks=True)
    run("agents", "clone", "Juniper", folder / "purged", "--name", "Copy")
    yield "`lifeboat purge`", run("purge", "Copy", "--all", "--dry-run")
    yield "`lifeboat purge`", run("purge", "Copy", "--all", "--yes")


def _rotation_documents(folder: Path) -> Iterator[tuple[str, JsonObject]]:
    words = ("--words-to", folder / "new-words", "--no-prove", "--yes")
    yield "`lifeboat keys rotate`", run("keys", "rotate", "--compromised", *words)
    own = run("keys", "status")["machines"][0]["id"]
    yield "`lifeboat keys rename-machine`", run("keys", "rename-machine", own, "workbench")


def _key_documents(folder: Path) -> Iterator[tuple[str, JsonObject]]:
    yield "`lifeboat keys`", run("keys", "init", "--words-to", folder / "words")
    yield "`lifeboat keys`", run("keys", "prove", "--words-from", folder / "words")
    yield "`lifeboat keys`", run("keys", "recover", "--words-from", folder / "words")
    yield "`lifeboat keys`", run("keys", "export-kit", "-o", folder / "kit")
    yield "`lifeboat keys`", run("keys", "status")
    yield "`lifeboat keys`", run("keys", "unlock")
    yield "`lifeboat keys`", run("keys", "lock")


def _cloned(workspace: Path, copy: Path) -> JsonObject:
    shutil.copytree(workspace, copy, symlinks=True)
    return run("agents", "clone", "Juniper", copy)


def _file_documents(workspace: Path, folder: Path) -> Iterator[tuple[str, JsonObject]]:
    one, two, delta = folder / "one.alf", folder / "two.alf", folder / "between.alf-delta"
    run("alf", "export", "openclaw", workspace, "-o", one)
    base = run("alf", "show", one)["sequence"]
    (workspace / "SOUL.md").write_text("# Soul\n\nYou are Juniper, and you whistle.\n")
    memory = workspace / "MEMORY.md"
    memory.write_text(memory.read_text() + "\n## Whistling\n\nOnly outdoors.\n")
    run("sync")
    yield "`lifeboat alf export`", run("alf", "export", "openclaw", workspace, "-o", two)
    run("alf", "export", "openclaw", workspace, "-o", delta, "--since", str(base))
    sealed = folder / "two.alf.age"
    yield "`lifeboat alf export`", run("alf", "export", "openclaw", workspace, "-o", sealed, "--encrypt")
    yield "`lifeboat alf show`", run("alf", "show", sealed)
    yield "`lifeboat alf validate`", run("alf", "validate", two)
    yield "`lifeboat alf show`", run("alf", "show", two)
    yield "`lifeboat alf show`", run("alf", "show", delta)
    yield "`lifeboat alf diff`", run("alf", "diff", one, two)
    yield "`lifeboat alf apply`", run("alf", "apply", one, delta, "-o", folder / "applied.alf")
    record = run("alf", "diff", one, two)["records"][0]["id"]
    yield "`lifeboat alf purge`", run("alf", "purge", two, "--record", record, "--dry-run")
    yield from _converted_documents(folder)
    imported = run("alf", "import", two, "--to", folder / "imported")
    yield "`lifeboat restore`, `undo`, `alf import`", imported


def _converted_documents(folder: Path) -> Iterator[tuple[str, JsonObject]]:
    """Yield documents of an agent as a bundle, of that as an archive, and of an encrypted archive."""
    heading, bundle = "`lifeboat alf convert`", folder / "juniper.aimem.json"
    yield heading, run("alf", "convert", "agent:Juniper", "--to", "aimem", "-o", bundle, "--yes")
    yield heading, run("alf", "convert", bundle, "--to", "alf", "-o", folder / "back.alf", "--yes")
    sealed = folder / "juniper.alf.age"
    yield heading, run("alf", "convert", "agent:Juniper", "--to", "alf", "-o", sealed, "--encrypt")


def test_every_field_that_a_command_writes_is_documented(documents: list[tuple[str, JsonObject]]) -> None:
    sections = _sections()
    missing = set()
    for heading, document in documents:
        for field in _fields(document):
            if not any(_covers(documented, field) for documented in sections[heading]):
                missing.add(f"{heading}: {field}")
    assert sorted(missing) == []


def test_every_documented_field_is_written(documents: list[tuple[str, JsonObject]]) -> None:
    written: dict[str, set[str]] = {}
    for heading, document in documents:
        written.setdefault(heading, set()).update(_fields(document))
    unwritten = set()
    for heading, found in written.items():
        for documented in _sections()[heading]:
            beginning = documented.removesuffix(".*").split("[]")[0]
            if not any(field.split("[]")[0].startswith(beginning) for field in found):
                unwritten.add(f"{heading}: {documented}")
    assert sorted(unwritten) == []


def test_the_tables_of_the_page_are_those_of_the_shapes() -> None:
    assert PAGE.read_text() == json_page.json_page(), "make docs writes it anew"


def test_every_shape_on_the_page_reads_what_its_command_wrote(documents: list[tuple[str, JsonObject]]) -> None:
    unread = []
    for heading, shapes in json_page.marked_shapes().items():
        for shape in shapes:
            names = {field.encode_name for field in msgspec.structs.fields(shape)}
            written = [document for of, document in documents if of == heading and document.keys() <= names]
            if not written:
                unread.append(f"{heading}: {shape.__name__}")
            for document in written:
                msgspec.convert(document, shape)
    assert unread == []


def test_a_failed_command_writes_one_error(isolated_home: Path) -> None:
    error = run("timeline", "nobody", expect=1)["error"]
    assert set(error) == {"code", "title", "message", "fix", "retryable"}
    assert error["code"] == "unknown_agent"
