"""A fake AWS KMS: the JSON protocol over HTTP with signed requests (checked by the library's own signer), and keys that
are disabled, denied, throttled, slow or gone."""

from __future__ import annotations

import base64
import functools
import json
import os
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

REGION = "eu-central-1"
ACCESS_KEY, SECRET_KEY = "AKIAEXAMPLEEXAMPLE00", "an-example-of-a-secret-key"
_ACCOUNT = f"arn:aws:kms:{REGION}:111122223333:"


def arn(name: str = "customer") -> str:
    return f"{_ACCOUNT}key/{name}"


@dataclass
class FakeKms:
    """Fake service. `fails` is the error of every request while it is set: a code and a status. `answer` replaces
    everything while it is set. `keys` by ARN: remove one to destroy it."""

    server: TalkingServer
    keys: dict[str, bytes] = field(default_factory=lambda: {arn(): os.urandom(32)})
    aliases: dict[str, str] = field(default_factory=lambda: {"alias/customer": arn()})
    denied: set[str] = field(default_factory=set)
    """Operations that the caller may not use: "Encrypt", "Decrypt"."""
    fails: tuple[str, int] | None = None
    answer: Callable[[BaseHTTPRequestHandler], None] | None = None
    operations: list[str] = field(default_factory=list)

    def spec(self, key: str | None = None, **options: object) -> str:
        """Return the specification of a key here; `options` are further options."""
        more = "".join(f"&{name}={value}" for name, value in options.items())
        return f"aws-kms:{key or arn()}?endpoint={self.server.address}{more}"

    def reply(self, handler: Any) -> None:
        asked: Asked = handler.question
        operation = asked.headers["X-Amz-Target"].removeprefix("TrentService.")
        self.operations.append(operation)
        if self.answer is not None:
            return self.answer(handler)
        code, found = self._answered(operation, asked)
        status(code, json.dumps(found).encode(), **{"Content-Type": "application/x-amz-json-1.1"})(handler)

    def _answered(self, operation: str, asked: Asked) -> tuple[int, dict[str, Any]]:
        given = json.loads(asked.body)
        if not _is_signed(asked):
            return 403, {"__type": "InvalidSignatureException"}
        if self.fails is not None:
            return self.fails[1], {"__type": self.fails[0]}
        if operation in self.denied:
            return 400, {"__type": "AccessDeniedException"}
        name = self.aliases.get(given["KeyId"], given["KeyId"])
        key = self.keys.get(name)
        if key is None:
            return 400, {"__type": "NotFoundException"}
        context = json.dumps(given.get("EncryptionContext"), sort_keys=True)
        return getattr(self, f"_{operation.lower()}")(name, key, context, given)

    def _encrypt(self, name: str, key: bytes, context: str, given: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        sealed = SecretBox(key).encrypt(json.dumps([context, given["Plaintext"]]).encode())
        blob = json.dumps([name, base64.b64encode(sealed).decode()]).encode()
        return 200, {"CiphertextBlob": base64.b64encode(blob).decode(), "KeyId": name}

    def _decrypt(self, name: str, key: bytes, context: str, given: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        try:
            wrapped_by, sealed = json.loads(base64.b64decode(given["CiphertextBlob"]))
            if wrapped_by != name:
                return 400, {"__type": "IncorrectKeyException"}
            bound, plain = json.loads(SecretBox(key).decrypt(base64.b64decode(sealed)))
        except (ValueError, CryptoError):
            bound = plain = None
        if bound != context:
            return 400, {"__type": "InvalidCiphertextException"}
        return 200, {"Plaintext": plain, "KeyId": name}


@contextmanager
def fake_kms(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeKms]:
    """Yield a service on a free port, with valid credentials in the environment."""
    pytest.importorskip("boto3", reason="boto3 is not installed: pip install 'agent-lifeboat[aws-kms]'")
    for name in list(os.environ):
        if name.startswith("AWS_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", ACCESS_KEY)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET_KEY)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", os.devnull)
    monkeypatch.setattr(key_service, "_OPEN", {})
    # Each session reads the descriptions of all services again: 0.04 CPU seconds. They do not change.
    monkeypatch.setattr("botocore.session.create_loader", _shared_loader)
    for limit in ("CONNECT_SECONDS", "READ_SECONDS", "_ANSWER_SECONDS"):
        monkeypatch.setattr(key_service, limit, patience())
    with talking_server() as server:
        made = FakeKms(server)
        server.replies = [made.reply]
        yield made


@functools.cache
def _shared_loader(data_path: str | None = None) -> Any:
    from botocore.loaders import create_loader

    return create_loader(data_path)


def _is_signed(asked: Asked) -> bool:
    """Return whether the signature (version 4) of a request matches the secret key."""
    from botocore.auth import SigV4Auth
    from botocore.awsrequest import AWSRequest
    from botocore.credentials import Credentials

    given = asked.headers.get("Authorization", "")
    names = given.partition("SignedHeaders=")[2].partition(",")[0].split(";")
    request = AWSRequest("POST", f"http://{asked.headers['Host']}{asked.path}", data=asked.body)
    for name in names:
        request.headers[name] = asked.headers.get(name, "")
    request.context["timestamp"] = asked.headers.get("X-Amz-Date", "")
    signer = SigV4Auth(Credentials(ACCESS_KEY, SECRET_KEY), "kms", REGION)
    text = signer.string_to_sign(request, signer.canonical_request(request))
    return f"Credential={ACCESS_KEY}/" in given and given.endswith("Signature=" + signer.signature(text, request))
