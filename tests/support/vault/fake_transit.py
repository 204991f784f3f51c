"""A fake transit engine of OpenBao or Vault: tokens, key versions, policies, certificate login; sealed, throttled, slow
or gone."""

from __future__ import annotations

import base64
import json
import os
import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any

import pytest
from nacl.exceptions import CryptoError
from nacl.secret import SecretBox

from lifeboat_vault.at_rest.key_sources import key_service
from support.patience import patience
from support.talking_server import Asked, TalkingServer, status, talking_server

TOKEN = "s.an-example-of-a-token"


@dataclass
class FakeKey:
    """Versions, oldest first. Texts of versions below `oldest` cannot be opened any more."""

    versions: list[bytes] = field(default_factory=lambda: [os.urandom(32)])
    oldest: int = 1

    def rotate(self) -> None:
        self.versions.append(os.urandom(32))


@dataclass
class FakeTransit:
    """Fake service. `fails` is the status of every request while it is set. `answer` replaces everything while it is
    set. `tokens` are valid; `login` is what a certificate gets."""

    server: TalkingServer
    keys: dict[str, FakeKey] = field(default_factory=lambda: {"customer": FakeKey()})
    mount: str = "transit"
    tokens: set[str] = field(default_factory=lambda: {TOKEN})
    denied: set[str] = field(default_factory=set)
    """Operations that no token may use: "encrypt", "decrypt"."""
    login: str | None = None
    fails: int | None = None
    answer: Callable[[BaseHTTPRequestHandler], None] | None = None
    operations: list[str] = field(default_factory=list)

    def spec(self, name: str = "customer", /, **options: object) -> str:
        """Return the specification of a key here; `options` are further options, with "_" for "-"."""
        more = "&".join(f"{option.replace('_', '-')}={value}" for option, value in options.items())
        return f"transit:{self.server.address}/{self.mount}/keys/{name}{'?' + more if more else ''}"

    def reply(self, handler: Any) -> None:
        asked: Asked = handler.question
        self.operations.append(asked.path.rpartition("/")[0].rpartition("/")[2])
        if self.answer is not None:
            return self.answer(handler)
        code, found = self._answered(asked)
        status(code, json.dumps(found).encode(), **{"Content-Type": "application/json"})(handler)

    def _answered(self, asked: Asked) -> tuple[int, dict[str, Any]]:
        if self.fails is not None:
            return self.fails, {"errors": ["Vault is sealed"]}
        if asked.path == "/v1/auth/cert/login":
            if self.login is None:
                return 400, {"errors": ["invalid certificate or no client certificate supplied"]}
            self.tokens.add(self.login)
            return 200, {"auth": {"client_token": self.login}}
        place, _, name = asked.path.rpartition("/")
        operation = place.rpartition("/")[2]
        if asked.headers.get("X-Vault-Token") not in self.tokens or operation in self.denied:
            return 403, {"errors": ["1 error occurred:\n\t* permission denied\n\n"]}
        if place != f"/v1/{self.mount}/{operation}":
            return 404, {"errors": ["no handler for route"]}
        key = self.keys.get(name)
        if key is None:
            return 400, {"errors": ["encryption key not found"]}
        return getattr(self, f"_{operation}")(key, json.loads(asked.body))

    def _encrypt(self, key: FakeKey, given: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        number = len(key.versions)
        sealed = SecretBox(key.versions[-1]).encrypt(base64.b64decode(given["plaintext"]))
        return 200, {"data": {"ciphertext": f"vault:v{number}:{base64.b64encode(sealed).decode()}"}}

    def _decrypt(self, key: FakeKey, given: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        _, version, text = given["ciphertext"].split(":")
        number = int(version[1:])
        if number < key.oldest:
            return 400, {"errors": ["ciphertext or signature version is disallowed by policy (too old)"]}
        if number > len(key.versions):
            return 400, {"errors": ["invalid ciphertext: version is too new"]}
        try:
            plain = SecretBox(key.versions[number - 1]).decrypt(base64.b64decode(text))
        except (ValueError, CryptoError):
            return 400, {"errors": ["invalid ciphertext: unable to decrypt"]}
        return 200, {"data": {"plaintext": base64.b64encode(plain).decode()}}


@contextmanager
def fake_transit(monkeypatch: pytest.MonkeyPatch, tls: ssl.SSLContext | None = None) -> Iterator[FakeTransit]:
    """Yield a service on a free port, with a valid token in the environment."""
    pytest.importorskip("hvac", reason="hvac is not installed: pip install 'agent-lifeboat[transit]'")
    for name in list(os.environ):
        if name.startswith("VAULT_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("VAULT_TOKEN", TOKEN)
    monkeypatch.setattr(key_service, "_OPEN", {})
    for limit in ("CONNECT_SECONDS", "READ_SECONDS", "_ANSWER_SECONDS"):
        monkeypatch.setattr(key_service, limit, patience())
    with talking_server(tls) as server:
        made = FakeTransit(server)
        server.replies = [made.reply]
        yield made
