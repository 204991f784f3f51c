"""No secret of a ZeroClaw agent stands in clear anywhere but where the agent keeps it: every place that one can be in,
both layouts, captured, exported and put back."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lifeboat_adapters.secrets import credential_payload
from lifeboat_adapters.zeroclaw import zeroclaw_paths
from lifeboat_adapters.zeroclaw.credentials import secret_encryption
from lifeboat_alf.archive import archive_layout
from lifeboat_alf.common import json_codec as json_codec
from support.adapters.canaries import HEAD, TAIL, Canary
from support.adapters.canary_scan import Scanner
from support.core.zeroclaw_protected import ProtectedClaw

KEY = bytes.fromhex("5a" * 32)
PLACES = (
    "config: provider key, encrypted",
    "config: provider key, as early releases encrypted it",
    "config: bot token in clear",
    "config: key in an array",
    "config: paired token",
    "config: header",
    "config: environment of a server",
    "config: address of a database",
    "profile: access",
    "profile: refresh",
    "profile: id",
    "profile: token",
    "otp",
    "webauthn",
    "variables of the home",
    "variables of the workspace",
    "settings of a skill",
    "backup of the configuration",
    "backup",
)


PROFILES = f"{zeroclaw_paths.HOME}auth-profiles.json"


def canary(place: str) -> str:
    number = PLACES.index(place)
    return f"{HEAD}{number:02}{place.encode().hex()[:14]:0<14}{TAIL}"


def encrypted(place: str) -> str:
    return secret_encryption.encrypt_secret(canary(place), KEY)


def early(place: str) -> str:
    data = canary(place).encode()
    return secret_encryption.LEGACY_PREFIX + bytes(byte ^ KEY[at % 32] for at, byte in enumerate(data)).hex()


def plant(ada: ProtectedClaw) -> None:
    """A secret in every place, and the first one also in a note and in a memory."""
    home, workspace = ada.install.home, ada.install.workspace()
    config = home / "config.toml"
    config.write_text(
        config.read_text()
        + f"""
[providers.models.openai.spare]
api_key = "{encrypted(PLACES[0])}"
[providers.models.groq.old]
api_key = "{early(PLACES[1])}"
[channels_config.telegram]
bot_token = "{canary("config: bot token in clear")}"
[reliability]
api_keys = ["{encrypted("config: key in an array")}"]
[gateway]
paired_tokens = ["{encrypted("config: paired token")}"]
[providers.models.custom.own.extra_headers]
X-Door = "{canary("config: header")}"
[[mcp.servers]]
name = "notes"
[mcp.servers.env]
NOTES = "{canary("config: environment of a server")}"
[storage.postgres.default]
db_url = "{encrypted("config: address of a database")}"
"""
    )
    login = {"model_provider": "openai", "kind": "oauth", "expires_at": "2026-12-01T00:00:00Z"}
    login |= {f"{name}_token": encrypted(f"profile: {name}") for name in ("access", "refresh", "id")}
    token = {"model_provider": "groq", "kind": "token", "token": encrypted("profile: token")}
    document = {"schema_version": 1, "profiles": {"openai:work": login, "groq:x": token}}
    (home / "auth-profiles.json").write_text(json.dumps(document, indent=1))
    (home / "otp-secret").write_text(canary("otp"))
    (home / "webauthn_credentials.json").write_text(json.dumps({"id": canary("webauthn")}))
    (home / ".env").write_text(f"WEATHER_API_KEY={canary('variables of the home')}\n")
    (workspace / ".env").write_text(f"TIDE_TOKEN='{canary('variables of the workspace')}'\n")
    skill = workspace / "skills" / "tides"
    skill.mkdir(parents=True)
    (skill / "config.toml").write_text(f'api_key = "{canary("settings of a skill")}"\n')
    (home / "config.toml.backup").write_text(f'api_key = "{canary("backup of the configuration")}"\n')
    (home / "backup-20260601").mkdir()
    (home / "backup-20260601" / "config.toml").write_text(f'api_key = "{canary("backup")}"\n')
    told = [canary(PLACES[0]), canary("backup of the configuration"), canary("backup"), KEY.hex()]
    (workspace / "MEMORY.md").write_text("# Memory\n\n" + "".join(f"- It is {value} now.\n" for value in told))
    ada.install.remember("key", f"The key is {canary(PLACES[0])}, and {canary('profile: refresh')} too.")
    ada.age(home)


@pytest.fixture(scope="module", params=["0.5.9", "0.8.3"])
def ada(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ProtectedClaw]:
    made = ProtectedClaw(tmp_path_factory.mktemp("claw"), request.param)
    plant(made)
    made.add()
    yield made


def opened(ada: ProtectedClaw) -> dict[str, tuple[dict[str, Any], credential_payload.CredentialPayload]]:
    """Every credential of the runtime's own folder by its label, with what is sealed in it."""
    with ada.context.vault(ada.agent.id) as vault:
        document = json_codec.decode_json(vault.state().body(archive_layout.CREDENTIALS))
    keys = ada.context.keys()
    found = [(one, credential_payload.decode_payload(keys.open(one))) for one in document["credentials"]]
    own = [each for each in found if next(iter(each[1].files)) in (f"{zeroclaw_paths.HOME}config.toml", PROFILES)]
    return {one["label"]: (one, sealed) for one, sealed in own}


def test_no_file_of_the_home_holds_a_secret(ada: ProtectedClaw) -> None:
    scanner = Scanner.of(Canary(place, (), canary(place)) for place in PLACES)
    leaks = scanner.folders(ada.folder / "home")
    assert leaks == [], "\n".join(map(str, leaks[:5]))


def test_the_key_of_the_runtime_is_nowhere(ada: ProtectedClaw) -> None:
    wanted = (KEY, KEY.hex().encode())
    found = [
        path
        for path in (ada.folder / "home").rglob("*")
        if path.is_file() and any(key in path.read_bytes() for key in wanted)
    ]
    assert found == []


def test_what_is_sealed_is_what_the_runtime_reads(ada: ProtectedClaw) -> None:
    _, sealed = opened(ada)["config.toml: providers.models.openai.spare.api_key"]
    assert sealed.value == canary(PLACES[0])


def test_the_spelling_lies_in_the_seal_beside_it(ada: ProtectedClaw) -> None:
    _, sealed = opened(ada)["config.toml: providers.models.openai.spare.api_key"]
    (spelling,) = sealed.files[f"{zeroclaw_paths.HOME}config.toml"].literals
    assert secret_encryption.decrypt_secret(spelling.decode().strip('"'), KEY) == canary(PLACES[0])


def test_a_login_is_one_credential_with_its_end(ada: ProtectedClaw) -> None:
    record, sealed = opened(ada)["auth-profiles.json: openai:work"]
    assert record["expires_at"] == "2026-12-01T00:00:00.000Z"
    assert json.loads(sealed.value) == {
        f"{name}_token": canary(f"profile: {name}") for name in ("access", "refresh", "id")
    }


def test_what_opens_the_gateway_stays_on_this_machine(ada: ProtectedClaw) -> None:
    record, _ = opened(ada)["config.toml: gateway.paired_tokens.0"]
    assert record["tags"] == ["machine-bound"]


def test_a_value_whose_key_is_lost_is_carried_and_tagged(tmp_path: Path) -> None:
    ada = ProtectedClaw(tmp_path)
    spelled = secret_encryption.encrypt_secret("an-invented-value-0001", bytes(range(32)))
    with (ada.install.home / "config.toml").open("a") as file:
        file.write(f'\n[channels.telegram.default]\nbot_token = "{spelled}"\n')
    ada.age(ada.install.home)
    ada.add()
    record, sealed = opened(ada)["config.toml: channels.telegram.default.bot_token"]
    assert (record["tags"], sealed.value) == (["needs-runtime-key"], spelled)


def test_a_value_that_is_only_encrypted_anew_is_the_same_credential(tmp_path: Path) -> None:
    ada = ProtectedClaw(tmp_path)
    config = ada.install.home / "config.toml"
    before = config.read_text()
    config.write_text(f'{before}\n[channels.telegram.default]\nbot_token = "{encrypted(PLACES[0])}"\n')
    ada.age(ada.install.home)
    ada.add()
    first, _ = opened(ada)["config.toml: channels.telegram.default.bot_token"]
    config.write_text(f'{before}\n[channels.telegram.default]\nbot_token = "{encrypted(PLACES[0])}"\n')
    ada.age(ada.install.home)
    ada.capture(full=True)
    second, _ = opened(ada)["config.toml: channels.telegram.default.bot_token"]
    assert first["id"] == second["id"] and "last_rotated_at" not in second
