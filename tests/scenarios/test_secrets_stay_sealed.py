"""What is known to be a secret stands nowhere in clear, cannot be guessed from what stands beside it, and nothing in
the home is for others to read."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from lifeboat_alf.errors import LifeboatError
from lifeboat_cli.doctor import DoctorLevel
from lifeboat_cli.doctor import check_exposed_secrets as exposed_secrets
from lifeboat_core import exchange
from lifeboat_core.exchange.agent_export import ExportOptions
from lifeboat_core.restore import RestoreOptions, restore_agent, undo_restore
from lifeboat_core.verify import samples_and_drills
from support.alf.archive_files import ArchiveFile
from support.core.protected import Protected
from support.prepared_folders import PreparedFolders

PIN = "482913"
TOKEN = 'gateway/token+0123456789äbcdef"x'
ENV, OLD, HOOK = "tide-key-0123456789abcdef", "former-key-0123456789abcdef", "hook-secret-fedcba9876543210"
SECRETS = (TOKEN, ENV, OLD, HOOK)


def spellings(secret: str) -> set[bytes]:
    texts = {secret, json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1], quote(secret, safe="")}
    texts |= {text.replace("/", "\\/") for text in texts}
    return {text.encode() for text in texts}


def config(token: str = TOKEN) -> str:
    values = {"gateway": {"auth": {"token": token}}, "channels": {"sms": {"pin": PIN}}, "hooks": {"token": HOOK}}
    return json.dumps(values, indent=2) + "\n"


@pytest.fixture(autouse=True)
def umask_that_hides_nothing() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


@pytest.fixture
def ada(tmp_path: Path) -> Protected:
    return _with_secrets(tmp_path)


def _with_secrets(folder: Path) -> Protected:
    """Ada, her secrets in every place where they may stand."""
    made = Protected(folder, config=config())
    made.write_config(config(OLD), "openclaw.json.bak")
    made.write(".env", f"TIDE_API_KEY={ENV}\nexport QUOTED_TOKEN='{ENV}'\n", mode=0o600)
    made.write("MEMORY.md", f"# Memory\n\n## Keys\n\nThe tide key is {ENV}, before it was ({OLD}).\n")
    made.write("memory/log.jsonl", json.dumps({"said": f"use {TOKEN}"}) + "\n")
    made.write("notes.csv", f"url\nhttps://example.com/?key={quote(TOKEN, safe='')}\n")
    made.write("big.bin", b"x" * 5_000_000 + HOOK.encode() + b"x" * 100)
    return made


@dataclass
class Story:
    """Ada after captures, a failure, a drill, a restore and an undo, and the archives that were written."""

    ada: Protected
    archives: list[Path]


@pytest.fixture
def story(prepared_folders: PreparedFolders) -> Story:
    return prepared_folders.restore("ada whose secrets are sealed", _a_whole_story)


def _a_whole_story(folder: Path) -> Story:
    ada = _with_secrets(folder)
    ada.add()
    ada.write("MEMORY.md", ada.read("MEMORY.md") + f"\n## More\n\nAgain {ENV}.\n")
    ada.capture()
    ada.write_config("{ gateway: { auth: { token: '" + TOKEN + "', broken")
    ada.capture()
    ada.write_config(config())
    ada.capture()
    samples_and_drills.drill_vault(ada.context, ada.agent, whole=True)
    ada.write("SOUL.md", "# Soul\n\nOther.\n")
    ada.clock.advance(minutes=1)
    options = RestoreOptions(at=0, with_credentials=True, yes=True, reindex=False)
    restore_agent(ada.context, ada.agent, options)
    undo_restore(ada.context, ada.agent)
    snapshot, delta = ada.folder / "ada.alf", ada.folder / "ada.alf-delta"
    exchange.export_agent(ada.context, "openclaw", ada.workspace, snapshot)
    exchange.export_agent(ada.context, "openclaw", ada.workspace, delta, ExportOptions(since=0))
    return Story(ada, [snapshot, delta])


def files_below(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def test_no_known_secret_stands_in_any_file(story: Story) -> None:
    ada, archives = story.ada, story.archives
    home = ada.context.home.folder
    with ada.context.vault(ada.agent.id) as vault:
        numbers = [row.number for row in vault.sequences()]
        held = [vault.state(number).body(entry.path) for number in numbers for entry in vault.state(number).entries()]
        held += [record.line for number in numbers for record in vault.state(number).records()]
        open_files = [path.read_bytes() for path in files_below(home)]
    unpacked = [body for archive in archives for body in ArchiveFile(archive).bodies.values()]
    packed = [path.read_bytes() for path in [*files_below(home), *archives]]
    for data in (*held, *open_files, *unpacked, *packed):
        for secret in SECRETS:
            assert not any(spelled in data for spelled in spellings(secret))


def test_undo_folders_beside_the_workspace_are_for_nobody_else(story: Story) -> None:
    ada = story.ada
    ada.write("SOUL.md", "# Soul\n\nOther again.\n")
    ada.clock.advance(minutes=1)
    restore_agent(ada.context, ada.agent, RestoreOptions(at=0, yes=True, reindex=False))
    beside = [path for path in ada.workspace.parent.iterdir() if ".lifeboat-" in path.name]
    assert beside
    assert {stat.S_IMODE(path.stat().st_mode) for path in beside} == {0o700}


def test_everything_in_the_home_is_for_its_owner_alone(story: Story) -> None:
    ada = story.ada
    with ada.context.vault(ada.agent.id) as vault:
        vault.set("opens the log", True)
        wrong = [
            f"{path}: {oct(stat.S_IMODE(path.lstat().st_mode))}"
            for path in (ada.context.home.folder, *ada.context.home.folder.rglob("*"))
            if stat.S_IMODE(path.lstat().st_mode) & 0o077
        ]
    assert wrong == []


def test_staging_is_for_its_owner_alone_while_it_lasts(ada: Protected, monkeypatch: pytest.MonkeyPatch) -> None:
    from lifeboat_core.restore.restore_staging import FileStager

    ada.add()
    seen: set[int] = set()
    write = FileStager.write

    def watched(self: FileStager, path: Path, item: Any) -> None:
        write(self, path, item)
        stages = [one for one in path.parents if ".lifeboat-stage-" in one.name]
        seen.update(stat.S_IMODE(one.stat().st_mode) for one in stages)

    monkeypatch.setattr(FileStager, "write", watched)
    restore_agent(ada.context, ada.agent, RestoreOptions(to=ada.folder / "out", with_credentials=True, reindex=False))
    assert seen == {0o700}
    assert (ada.folder / "out" / ".env").stat().st_mode & 0o077 == 0


def _guesses() -> Iterator[bytes]:
    return (b"%06d" % number for number in range(480_000, 485_000))


def test_a_short_secret_cannot_be_guessed_from_what_stands_beside_it(story: Story) -> None:
    """All digests and sizes of an archive against the digests of every file that the secret may have stood in."""
    archive = story.archives[0]
    file = ArchiveFile(archive)
    text = b"\n".join(file.bodies.values()) + archive.read_bytes()
    cut = file.bodies["raw/openclaw-home/openclaw.json"]
    credentials = file.json("credentials.json")["credentials"]
    cuts = file.json("lifeboat/cuts.json")["raw/openclaw-home/openclaw.json"]
    pins = [each["id"] for each in credentials if "pin" in each["label"]]
    (pin,) = [each["credential_id"] for each in cuts if each["credential_id"] in pins]
    placeholder = f'"{{{{lifeboat:credential:{pin}}}}}"'.encode()
    assert placeholder in cut
    lengths = {len(base64.b64decode(each["encrypted_payload"])) for each in credentials}
    assert {length % 256 for length in lengths} == {16}
    for guess in (PIN.encode(), *_guesses()):
        whole = cut.replace(placeholder, b'"' + guess + b'"')
        for body in (guess, b'"' + guess + b'"', whole):
            digest = hashlib.sha256(body)
            assert digest.hexdigest().encode() not in text and digest.digest() not in text
            assert hashlib.blake2b(body, digest_size=10).digest() not in text


def test_the_same_secret_sealed_twice_has_nothing_in_common(ada: Protected) -> None:
    ada.add()
    sealed = [each["encrypted_payload"] for each in ada.document("credentials.json")["credentials"]]
    assert len(set(sealed)) == len(sealed)


def test_a_secret_that_becomes_known_is_cut_from_everything_in_the_new_state(ada: Protected) -> None:
    late = "late-secret-0123456789abcdef"
    ada.write("MEMORY.md", f"# Memory\n\n## Guess\n\nIt may be {late}.\n")
    ada.add()
    ada.write(".env", f"TIDE_API_KEY={late}\n", mode=0o600)
    ada.capture()
    with ada.context.vault(ada.agent.id) as vault:
        state = vault.state()
        bodies = [state.body(entry.path) for entry in state.entries()] + [record.line for record in state.records()]
    assert not any(late.encode() in body for body in bodies)
    (found,) = exposed_secrets.check(ada.context)
    assert found.level is DoctorLevel.WARNING
    assert "raw/openclaw/MEMORY.md" in found.result and "up to 0" in found.result and late not in found.result


def test_doctor_has_nothing_to_say_of_secrets_that_were_always_known(story: Story) -> None:
    ada = story.ada
    (found,) = exposed_secrets.check(ada.context)
    assert found.level is DoctorLevel.OK


def test_rows_that_did_not_change_are_cut_too_when_a_secret_becomes_known(tmp_path: Path) -> None:
    late = "late-secret-0123456789abcdef"
    ada = Protected(tmp_path, config="{}")
    jobs = {"jobs": [{"id": "a", "name": "tide", "payload": {"kind": "agentTurn", "message": f"Use {late}"}}]}
    (ada.state_dir / "cron").mkdir()
    (ada.state_dir / "cron" / "jobs.json").write_text(json.dumps(jobs))
    ada.add()
    rows = "raw/openclaw-home/db/state/cron_jobs.jsonl"
    assert late.encode() in ada.body(rows)
    ada.write(".env", f"TIDE_API_KEY={late}\n", mode=0o600)
    ada.capture()
    assert late.encode() not in ada.body(rows)


def test_errors_name_places_never_contents(ada: Protected) -> None:
    ada.add()
    ada.write_config("{ gateway: { auth: { token: '" + TOKEN + "' " + HOOK + ": }")
    report = ada.capture()
    ada.write(".env", f'TIDE_API_KEY="{ENV}\n"{OLD}')
    said = [str(report), str(ada.capture())]
    with pytest.raises(LifeboatError) as raised:
        restore_agent(ada.context, ada.agent, RestoreOptions(at=99))
    said.append(str(raised.value))
    assert report.waiting
    for text in said:
        assert not any(spelled.decode() in text for secret in SECRETS for spelled in spellings(secret))
