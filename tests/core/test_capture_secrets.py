"""Secrets in captures: no known secret stays in clear, and nothing unchanged is sealed again."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lifeboat_adapters.secrets import credential_payload
from lifeboat_adapters.secrets.entropy import is_guessable
from lifeboat_adapters.secrets.secret_prints import PrintShape, SecretPrints, length_to_keep
from lifeboat_alf.archive import archive_layout
from lifeboat_keys.signed import credential_sealing
from support.core.protected import MEMORY, Protected
from support.prepared_folders import PreparedFolders

TOKEN = "0123456789abcdef0123456789abcdef"
OTHER = "fedcba9876543210fedcba9876543210"
CONFIG = '{ gateway: { auth: { mode: "token", token: "%s" } }, models: { providers: { orchard: { apiKey: "%s" } } } }\n'
KEY = "sk-example-orchard-not-a-real-key"
HOME_CONFIG = "raw/openclaw-home/openclaw.json"


@pytest.fixture
def ada(prepared_folders: PreparedFolders) -> Protected:
    return prepared_folders.restore("agent with two secrets", _agent_with_secrets)


def _agent_with_secrets(folder: Path) -> Protected:
    made = Protected(folder, config=CONFIG % (TOKEN, KEY))
    made.add()
    return made


def test_no_known_secret_lies_anywhere_in_the_home(ada: Protected) -> None:
    ada.write("memory/keys.md", f"# Keys\n\nThe key is {KEY}, do not lose it.\n")
    ada.write("plan.csv", f"name,key\norchard,{KEY}\n")
    ada.capture()
    for file in ada.context.home.folder.rglob("*"):
        if file.is_file():
            data = file.read_bytes()
            assert TOKEN.encode() not in data and KEY.encode() not in data, file
    assert all(KEY not in text for text in ada.memories())


def test_every_cut_file_is_whole_again_with_the_key(ada: Protected) -> None:
    note = f"# Keys\n\nThe key is {KEY}, twice {KEY}.\n"
    ada.write("memory/keys.md", note)
    ada.capture()
    assert _whole(ada, HOME_CONFIG) == (CONFIG % (TOKEN, KEY)).encode()
    assert _whole(ada, "raw/openclaw/memory/keys.md") == note.encode()


def _whole(ada: Protected, path: str) -> bytes:
    by_id = {one["id"]: one for one in _credentials(ada)}
    secret = ada.context.keys().agent_secret(ada.agent.id)
    meta = ada.meta(path)
    assert meta is not None

    def payload_of(credential_id: str) -> credential_payload.CredentialPayload:
        return credential_payload.decode_payload(credential_sealing.unseal_credential(by_id[credential_id], secret))

    return credential_payload.restore_whole_file(path, ada.body(path), meta["cuts"], payload_of)


def _credentials(ada: Protected, number: int | None = None) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = ada.document(archive_layout.CREDENTIALS, number)["credentials"]
    return found


def test_credentials_say_what_they_are_for_and_stand_by_id(ada: Protected) -> None:
    found = _credentials(ada)
    assert [one["id"] for one in found] == sorted(one["id"] for one in found)
    assert {one["agent_id"] for one in found} == {ada.agent.id}
    assert {"gateway.auth.token" in one["label"] for one in found} == {True, False}


def test_an_unchanged_config_keeps_its_ciphertexts(ada: Protected) -> None:
    before = ada.body(archive_layout.CREDENTIALS)
    ada.write("MEMORY.md", MEMORY + "\n## New\n\nText.\n")
    ada.capture()
    ada.capture(full=True)
    assert ada.body(archive_layout.CREDENTIALS) == before


def test_a_rotated_secret_keeps_its_credential(ada: Protected) -> None:
    before = {one["label"]: one for one in _credentials(ada)}
    ada.write_config(CONFIG % (OTHER, KEY))
    ada.capture()
    after = {one["label"]: one for one in _credentials(ada)}
    assert {label: one["id"] for label, one in after.items()} == {label: one["id"] for label, one in before.items()}
    (rotated,) = [one for one in after.values() if "last_rotated_at" in one]
    assert "token" in rotated["label"]
    assert _whole(ada, HOME_CONFIG) == (CONFIG % (OTHER, KEY)).encode()


def test_an_older_state_is_whole_with_its_own_credentials(ada: Protected) -> None:
    ada.write_config(CONFIG % (OTHER, KEY))
    ada.capture()
    assert _credentials(ada, 0) != _credentials(ada)


def test_a_secret_that_went_takes_its_credential_along(ada: Protected) -> None:
    ada.write_config("{ gateway: { auth: { mode: 'none' } } }\n")
    ada.capture()
    assert _credentials(ada) == []


def test_a_file_with_secrets_that_went_takes_them_along(ada: Protected) -> None:
    ada.write("memory/keys.md", f"# Keys\n\nThe key is {KEY}.\n")
    ada.capture()
    assert len(_credentials(ada)) == 3
    (ada.workspace / "memory/keys.md").unlink()
    ada.capture()
    assert len(_credentials(ada)) == 2


def test_a_half_written_config_waits_and_the_rest_goes_on(ada: Protected) -> None:
    ada.write_config('{ gateway: { auth: { token: "' + OTHER)
    ada.write("SOUL.md", "# Soul\n\nBe brave.\n")
    report = ada.capture()
    assert report.changed and set(report.waiting) == {HOME_CONFIG}
    assert OTHER not in str(report.waiting)
    assert _whole(ada, HOME_CONFIG) == (CONFIG % (TOKEN, KEY)).encode()
    ada.write_config(CONFIG % (OTHER, KEY))
    assert not ada.capture().waiting
    assert _whole(ada, HOME_CONFIG) == (CONFIG % (OTHER, KEY)).encode()


def test_a_value_of_an_earlier_capture_is_known_later(ada: Protected) -> None:
    ada.write_config("{ gateway: { auth: { mode: 'none' } } }\n")
    ada.capture()
    ada.write("memory/keys.md", f"# Keys\n\nThe old key was `{KEY}`.\n")
    ada.capture()
    assert KEY.encode() not in ada.body("raw/openclaw/memory/keys.md")
    assert _whole(ada, "raw/openclaw/memory/keys.md") == ada.read("memory/keys.md").encode()


@pytest.mark.parametrize("around", ["https://api.example.com/bot%s/getMe", "old_%s", "%s_backup"])
def test_a_known_value_inside_of_a_word_is_cut_from_later_notes_too(ada: Protected, around: str) -> None:
    note = f"# Keys\n\n{around % KEY}\n"
    ada.write("memory/keys.md", note)
    ada.capture()
    assert KEY.encode() not in ada.body("raw/openclaw/memory/keys.md")
    assert _whole(ada, "raw/openclaw/memory/keys.md") == note.encode()


def test_a_known_value_in_a_name_is_in_no_service_and_no_label(tmp_path: Path) -> None:
    servers = {KEY: {"env": {"API_KEY": OTHER}}}
    ada = Protected(tmp_path, config=json.dumps({"mcp": {"servers": servers}, "gateway": {"auth": {"token": KEY}}}))
    ada.add()
    files = [file for file in ada.context.home.folder.rglob("*") if file.is_file()]
    assert not [file for file in files if KEY.encode() in file.read_bytes()]
    assert _whole(ada, HOME_CONFIG) == (ada.state_dir / "openclaw.json").read_bytes()


@pytest.mark.parametrize("where", ["agents", "meta", "IDENTITY.md"])
def test_a_known_value_in_the_name_of_an_agent_is_in_no_archive(tmp_path: Path, where: str) -> None:
    config: Any = {"gateway": {"auth": {"token": KEY}}}
    named = {"agents": {"entries": {"main": {"name": KEY}}}, "meta": {"lastTouchedVersion": KEY}}
    ada = Protected(tmp_path, config=json.dumps(config | {key: one for key, one in named.items() if key == where}))
    if where == "IDENTITY.md":
        ada.write(where, f"# Identity\n\n- **Name:** {KEY}\n")
    ada.add()
    (ada.workspace / "SOUL.md").unlink()
    ada.capture()
    with ada.context.vault(ada.agent.id) as vault:
        state = vault.state()
        bodies = [state.body(entry.path) for entry in state.entries()] + [record.line for record in state.records()]
    assert not [body for body in bodies if KEY.encode() in body]


@given(st.data())
def test_a_former_value_without_white_space_is_found_as_if_every_part_of_the_text_were_looked_at(data: Any) -> None:
    value = data.draw(st.text("abAB01._-:/+=", min_size=16, max_size=24)).encode()
    around = st.text("ab. =:/-_\n'\"(),", max_size=5)
    text = data.draw(around).encode() + value + data.draw(around).encode()
    prints = SecretPrints(_SteadyKeys(), "ada")  # type: ignore[arg-type]
    length = length_to_keep(value)
    shapes = [prints.shape_of(value), PrintShape(length), PrintShape(None if length is None else abs(length))]
    found = [sorted(prints.known_in(text, {prints.of(value): shape})) for shape in shapes]
    assert found[0] == found[1] == found[2]


@given(st.data())
def test_former_values_of_many_lengths_are_found_by_their_beginnings(data: Any) -> None:
    letters = "abcdefghijklmnopqrstuvwxyz0123456789"
    chance = random.Random(data.draw(st.integers(0, 1 << 32)))
    separator = data.draw(st.sampled_from([" ", ".", "/", " - "]))
    values = [
        separator.join("".join(chance.choices(letters, k=size)) for size in (7, length, 5)).encode()
        for length in range(9, 60, 5)
    ]
    prints = SecretPrints(_SteadyKeys(), "ada")  # type: ignore[arg-type]
    known = {prints.of(value): prints.shape_of(value) for value in values}
    text = b"\n".join([b"before", *values, b"after"])
    found = {text[one.start : one.end] for one in prints.known_in(text, known)}
    assert found == set(values)


def test_former_values_of_a_thousand_lengths_are_searched_with_a_few() -> None:
    chance, prints = random.Random(1), SecretPrints(_SteadyKeys(), "ada")  # type: ignore[arg-type]
    values = [
        f"one {''.join(chance.choices('abcdefghijklmnopqrstuvwxyz0123456789', k=length))}" for length in range(1000)
    ]
    shapes = [prints.shape_of(value.encode()) for value in values if not is_guessable(value)]
    assert len({shape.begin or shape.length for shape in shapes}) <= 16


@pytest.mark.parametrize(
    "value",
    [
        "the harbour of Juniper has the code 8f7a3c91d2e4b6",
        "my password is correct horse battery staple lighthouse",
        "aaaaaaaaaaaaaaaaaaaaaaaa 0b9x8c7v6n5m4",
    ],
)
def test_no_print_is_kept_of_a_beginning_that_can_be_guessed(value: str) -> None:
    shape = SecretPrints(_SteadyKeys(), "ada").shape_of(value.encode())  # type: ignore[arg-type]
    assert not shape.begin or not is_guessable(value[: shape.begin])
    assert bool(shape.begin) == bool(shape.begin_print)


class _SteadyKeys:
    def fingerprint(self, value: bytes) -> str:
        return "00" * 32


def test_a_note_full_of_copies_is_cut_and_whole_again(ada: Protected) -> None:
    note = f"# Keys\n\n{f'{KEY} ' * 20_000}\n"
    ada.write("memory/keys.md", note)
    ada.capture()
    assert _whole(ada, "raw/openclaw/memory/keys.md") == note.encode()


def test_a_value_that_becomes_a_secret_is_cut_where_it_already_stood(ada: Protected) -> None:
    ada.write("memory/keys.md", f"# Keys\n\nMaybe {OTHER}.\n")
    ada.capture()
    assert OTHER.encode() in ada.body("raw/openclaw/memory/keys.md")
    ada.write_config(CONFIG % (OTHER, KEY))
    ada.capture()
    assert OTHER.encode() not in ada.body("raw/openclaw/memory/keys.md")
    assert all(OTHER not in text for text in ada.memories())


def test_what_only_looks_like_a_secret_is_named_and_not_altered(ada: Protected) -> None:
    text = "# Note\n\nOnce it was ghp_000000000000000000000000000000000000 there.\n"
    ada.write("memory/note.md", text)
    report = ada.capture()
    assert report.looks_like_secret == {"raw/openclaw/memory/note.md": "github_token (line 3)"}
    assert ada.body("raw/openclaw/memory/note.md") == text.encode()


def test_a_key_in_the_settings_of_a_tool_is_cut_and_whole_again(ada: Protected) -> None:
    settings = b'[tide]\napi_key = """%s""" # it\'s mine\nplace = \'Lisbon\'\n' % OTHER.encode()
    ada.write("skills/tide/config.toml", settings)
    ada.write("memory/tide.md", f"# Tide\n\nIt needs {OTHER}.\n")
    ada.capture()
    path = next(path for path in ("raw/openclaw/", "artifacts/") if ada.meta(f"{path}skills/tide/config.toml"))
    assert OTHER.encode() not in ada.body(f"{path}skills/tide/config.toml") + ada.body("raw/openclaw/memory/tide.md")
    assert _whole(ada, f"{path}skills/tide/config.toml") == settings


def test_settings_that_do_not_parse_keep_their_last_version_only_where_a_secret_may_be_in_them(ada: Protected) -> None:
    ada.write("tide/config.yaml", f"api_key: [\n{OTHER}\n")
    ada.write("other/config.yaml", "just: [\nhalf\n")
    ada.write("third/config.yaml", f"api_key: {KEY}\nlist: [\n")
    report = ada.capture()
    assert [path.rpartition("artifacts/")[2] for path in report.waiting] == ["third/config.yaml"]


def test_text_that_only_looks_like_a_placeholder_is_text(ada: Protected) -> None:
    credential = _credentials(ada)[0]["id"]
    text = f"# Note\n\nSee {{{{lifeboat:credential:{credential}}}}} there.\n"
    ada.write("memory/note.md", text)
    ada.capture()
    assert ada.body("raw/openclaw/memory/note.md") == text.encode()
    assert "cuts" not in (ada.meta("raw/openclaw/memory/note.md") or {})


def test_what_is_outside_of_the_seal_does_not_follow_from_the_secret(tmp_path: Path) -> None:
    sizes = set()
    for number, token in enumerate(("1", "12345678901234567890")):
        ada = Protected(tmp_path / str(number), config=f'{{ gateway: {{ auth: {{ token: "{token}" }} }} }}')
        ada.add()
        sizes.add((len(ada.body(HOME_CONFIG)), len(ada.body(archive_layout.CREDENTIALS))))
    assert len(sizes) == 1


def test_capture_needs_no_secret_of_the_user(ada: Protected) -> None:
    (ada.context.home.keys_folder / "user.key").unlink()
    ada.write_config(CONFIG % (OTHER, KEY))
    assert ada.capture().changed


def test_keeping_a_secret_file_unread_keeps_its_credentials(ada: Protected) -> None:
    before = _credentials(ada)
    ada.write("SOUL.md", "# Soul\n\nBe brave.\n")
    ada.capture()
    assert _credentials(ada) == before


@pytest.mark.parametrize(
    "secret",
    [
        "correct horse q7Zt9Xw2 battery 4rV8 staple",
        'a "quoted" and \\ odd one',
        "aBc4eFg8/iJk2mNo6+qRs9==",
        "eyFake.eyFake-0.1_2345",
        "line q7Zt9Xw2Kp one\nline 4rV8Lm two",
    ],
)
def test_a_former_secret_that_is_no_single_word_stays_cut(tmp_path: Path, secret: str) -> None:
    """Its source has another value now and every file is read again, so the copy in a note is found by its print."""
    ada = Protected(tmp_path, config=json.dumps({"gateway": {"auth": {"password": secret}}}))
    ada.write("MEMORY.md", f"# Memory\n\n## Door\n\nIt opens with={secret}, or it does not.\n")
    ada.write("data.json", json.dumps({"said": [secret]}))
    ada.add()
    ada.write_config(json.dumps({"gateway": {"auth": {"password": "another-secret-0123456789"}}}))
    ada.capture(full=True)
    with ada.context.vault(ada.agent.id) as vault:
        bodies = [vault.state().body(entry.path) for entry in vault.state().entries()]
        bodies += [record.line for record in vault.state().records()]
    spelled = {secret.encode(), json.dumps(secret)[1:-1].encode()}
    assert [body for body in bodies if any(each in body for each in spelled)] == []
