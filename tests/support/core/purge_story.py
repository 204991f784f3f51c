"""The story of a purge, for tests: an agent that learned a text, three remotes, and what must be true afterwards."""

from __future__ import annotations

import contextlib
import io
import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from lifeboat_core.purge import receipt_signing
from lifeboat_core.remotes import pulling, vault_bundles
from lifeboat_core.remotes.redactions import purge_exchange
from lifeboat_core.remotes.remote_kinds import open_remote
from lifeboat_core.restore import RestoreOptions, restore_agent
from lifeboat_keys.age_format import age_encryption
from lifeboat_vault.errors import RemoteError
from lifeboat_vault.remote.remote_contract import RemoteBundle
from support.core.machines import Machine
from support.core.purged import (
    SCANNER,
    TEXT,
    Held,
    contents,
    everything,
    leaks_below,
    leaks_in,
    owner_token,
    purge,
    request,
    same,
    vaults_of,
)
from support.endpoint.endpoint_servers import RunningEndpoint

REMOTES = ("home", "away", "stick")

History = dict[int, tuple[bytes, Held]]


@dataclass
class Story:
    """A machine whose agent learned the text early, moved it about and lost most of it again, with three remotes: two
    endpoints and a sealed folder. `old` is another machine of the user as it was before the purge, `delta` what was
    sent once and may be sent again."""

    laptop: Machine
    home: RunningEndpoint
    away: RunningEndpoint
    stick: Path
    before: History
    old: Path
    delta: bytes = b""
    sent: tuple[int, int] = (0, 0)


def told(folder: Path, home: RunningEndpoint, away: RunningEndpoint, sequences: int) -> Story:
    laptop = Machine(folder / "laptop")
    laptop.add()
    laptop.add_remote("home", home.url, token=home.token, pin=home.pin)
    laptop.add_remote("away", away.url, token=away.token, pin=away.pin)
    laptop.add_remote("stick", (folder / "stick").as_uri(), sealed=True)
    live(laptop, sequences)
    with laptop.context.vault(laptop.agent.id) as vault:
        before = everything(vault)
    shutil.copytree(laptop.folder, folder / "old", symlinks=True)
    story = Story(laptop, home, away, folder / "stick", before, folder / "old")
    story.sent = (0, max(before))
    with (
        laptop.context.vault(laptop.agent.id) as vault,
        vault_bundles.make_delta(laptop.context, vault, *story.sent) as bundle,
    ):
        story.delta = bundle.file.read()
    return story


def live(machine: Machine, sequences: int) -> None:
    """Let days of an agent pass: it learns, forgets, and goes on. Everything goes to the remotes."""
    for number in range(1, sequences):
        if number == max(2, sequences // 10):
            machine.write("MEMORY.md", f"{machine.read('MEMORY.md')}\n## Passport\n\n{TEXT}\n")
            machine.write("memory/2026-11-12.md", f"# Today\n\nTea.\n\n## Papers\n\n{TEXT}\n\n## Boat\n\nRed.\n")
            machine.write("notes/trip.txt", f"before\n{TEXT}\nafter\n")
            machine.write("data/trip.json", json.dumps({"who": "ada", "note": TEXT, "days": 3}))
        elif number == sequences // 2:
            machine.write("notes/trip.txt", "before\nafter\n")
        elif number % 7 == 0:
            machine.write("MEMORY.md", f"{machine.read('MEMORY.md')}\n## Day {number}\n\nThe boat was at sea.\n")
        else:
            machine.write("notes/log.txt", f"day {number}\n")
        assert machine.capture().changed
        if number % 20 == 0:
            push_everywhere(machine)
    push_everywhere(machine)


def push_everywhere(machine: Machine) -> None:
    for name in REMOTES:
        assert machine.push(name).state == "ok"


def there(machine: Machine, name: str) -> History:
    """Return every state that a remote serves."""
    found = {}
    with contextlib.closing(open_remote(machine.context, machine.remote(name))) as remote:
        for row in remote.sequences(machine.agent.id):
            with pulling.open_remote_state(remote, machine.agent.id, row.number) as state:
                found[row.number] = (row.digest, contents(state))
    return found


def decrypted(machine: Machine, stick: Path) -> Iterator[tuple[str, bytes]]:
    """Return what the key opens of a sealed folder."""
    identities = [age_encryption.age_identity_of(machine.context.keys().user_key())]
    for path in sorted(stick.rglob("*.age")):
        out = io.BytesIO()
        with path.open("rb") as sealed:
            age_encryption.decrypt_file(sealed, out, identities)
        yield str(path), out.getvalue()


def prove(story: Story) -> None:
    """Run the whole story: one remote is off during the purge, and is told afterwards."""
    laptop = story.laptop
    assert leaks_below(laptop.folder / "home")
    story.away.stop()
    done = purge(laptop, request(workspace=True), {"home": owner_token(story.home)})
    assert {each.name: each.state for each in done.remotes} == {"home": "done", "away": "pending", "stick": "done"}
    assert done.applied.searched["hits"] == 0
    story.away.start()
    assert laptop.push("away").state == "ok"
    assert states_of(laptop, done.receipt) == {"home": "done", "away": "waiting", "stick": "done"}
    redaction = receipts_redaction(laptop, done.receipt)
    purge_exchange.send_redaction(
        laptop.context, laptop.known_agent, laptop.remote("away"), redaction, owner_token(story.away)
    )
    assert set(states_of(laptop, done.receipt).values()) == {"done"}
    nothing_is_left(story)
    all_else_is_there(story)
    the_proof_holds(story, done.receipt)


def states_of(machine: Machine, receipt: str) -> dict[str, str]:
    kept = receipt_signing.find_receipt(machine.context, receipt)
    return {each.name: each.state for each in kept.vaults if each.kind != receipt_signing.HOME}


def receipts_redaction(machine: Machine, receipt: str) -> purge_exchange.Redaction:
    with machine.context.vault(machine.agent.id) as vault:
        return next(each for each in vault.redactions if each.id == receipt)


def nothing_is_left(story: Story) -> None:
    """Assert that no byte of the text is left in files, inflated streams, free pages or decrypted blobs."""
    laptop = story.laptop
    assert leaks_below(laptop.folder, story.stick, story.home.data, story.away.data) == []
    with laptop.context.vault(laptop.agent.id) as vault:
        assert leaks_in(vault) == []
    for endpoint in (story.home, story.away):
        for vault in vaults_of(endpoint):
            assert leaks_in(vault) == []
    for name, data in decrypted(laptop, story.stick):
        assert SCANNER.data(data, name) == []


def all_else_is_there(story: Story) -> None:
    """Assert that everything else is there at every kept sequence, with its former digest."""
    laptop = story.laptop
    with laptop.context.vault(laptop.agent.id) as vault:
        assert same(story.before, everything(vault))
        assert vault.verify(trusted=laptop.context.keys().trusted).findings == []
    for name in REMOTES:
        found = there(laptop, name)
        assert found.keys() <= story.before.keys()
        assert same({number: story.before[number] for number in found}, found)


def the_proof_holds(story: Story, receipt: str) -> None:
    laptop = story.laptop
    document = receipt_signing.find_receipt(laptop.context, receipt).to_json()
    assert [
        each
        for each in receipt_signing.verify_receipt(laptop.context, document)
        if each.level == receipt_signing.ReceiptLevel.WRONG
    ] == []
    assert SCANNER.data(json.dumps(document).encode(), "the receipt") == []


def an_old_delta_is_sent_again(story: Story) -> None:
    for name in REMOTES:
        with contextlib.closing(open_remote(story.laptop.context, story.laptop.remote(name))) as remote:
            base, number = story.sent
            bundle = RemoteBundle("delta", number, base, io.BytesIO(story.delta), len(story.delta))
            with contextlib.suppress(RemoteError):
                remote.push(story.laptop.agent.id, bundle)


def an_old_machine_comes_back(story: Story) -> None:
    """Let a machine with a home and workspace from before the purge come back. It is told before it sends anything."""
    old = Machine.__new__(Machine)
    old.__dict__.update(story.laptop.__dict__)
    old.folder = story.old
    old.state_dir, old.workspace = story.old / "openclaw", story.old / "openclaw" / "workspace"
    agent_file = old.context.home.agent_file(old.agent.id)
    agent_file.write_text(agent_file.read_text().replace(str(story.laptop.folder), str(story.old)))
    assert leaks_below(story.old / "home")
    old.write("notes/log.txt", "written on the old machine\n")
    for name in REMOTES:
        old.capture_and_push(name)
    with old.context.vault(old.agent.id) as vault:
        assert leaks_in(vault) == []
    assert leaks_below(story.old / "home") == []


def an_old_workspace_comes_back(story: Story) -> None:
    """Let an editor or a synchronised folder write the text again."""
    laptop = story.laptop
    laptop.write("notes/trip.txt", f"before\n{TEXT}\nafter\nand more\n")
    laptop.capture()
    with laptop.context.vault(laptop.agent.id) as vault:
        assert leaks_in(vault) == []
        assert vault.state().body("artifacts/notes/trip.txt").endswith(b"and more\n")
    restore_agent(laptop.context, laptop.known_agent, RestoreOptions(yes=True, reindex=False))
    purge(laptop, request(workspace=True))
