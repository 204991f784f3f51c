"""A key in the transit engine of OpenBao or HashiCorp Vault, which never leaves the service.

    transit:https://vault.example.com:8200/transit/keys/NAME
        ?token-file=/path        a file with the token, read for every question; or token-env=VARIABLE
        &cert=/path&key=/path    a client certificate, which logs in where no token is named; role=NAME picks its role
        &ca=/path                the authority of the service, where it is none that this machine trusts
        &namespace=NAME
        &cache=300               seconds until the service is asked again

What the address does not say is taken from VAULT_TOKEN_FILE, VAULT_TOKEN, VAULT_CLIENT_CERT, VAULT_CLIENT_KEY,
VAULT_CACERT and VAULT_NAMESPACE.
"""

from __future__ import annotations

import importlib
import json
import os
import re
import threading
from base64 import b64decode, b64encode
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from lifeboat_alf.errors import LifeboatError
from lifeboat_keys.installers import install_command
from lifeboat_vault.at_rest.key_sources import key_service
from lifeboat_vault.at_rest.key_sources.file_source import place_outside
from lifeboat_vault.at_rest.key_sources.key_service import ServiceKey
from lifeboat_vault.errors import KeyRevoked, KeySourceAway, KeySourceRefused

SCHEME = "transit"
_FILES = {
    "token-file": "VAULT_TOKEN_FILE",
    "cert": "VAULT_CLIENT_CERT",
    "key": "VAULT_CLIENT_KEY",
    "ca": "VAULT_CACERT",
}
"""Options that are paths, and the environment variables that replace them."""
_OPTIONS = (*_FILES, "token-env", "role", "namespace", key_service.CACHE)
_PLACE = re.compile(r"/(?:v1/)?([\w.-]+(?:/[\w.-]+)*)/keys/([\w.-]{1,256})")
_TOKEN = "VAULT_TOKEN"
_MOST = 65536
"""Maximum bytes of a token file, and of an answer."""
_LOGIN = "log in"
_GONE = ("encryption key not found", "no handler for route", "unsupported path")
_OTHER = ("disallowed by policy", "invalid ciphertext", "message authentication failed", "version")
"""Message of the service for a text wrapped under a withdrawn version or another key."""


class TransitKind:
    """`KeySourceKind` of keys in transit engines. It makes none; the owner of the key does."""

    def open(self, where: str, *, outside: Path) -> ServiceKey:
        return key_service.share_service_key(_spec(where), lambda: _opened(where, outside))

    def make(self, where: str, *, outside: Path) -> None:
        key_service.check_key_source(self.open(where, outside=outside))


class _TransitAddress(NamedTuple):
    """Address of a key, and how to log in."""

    url: str
    mount: str
    key: str


class _Transit:
    """`KeyService` of one key in a transit engine."""

    def __init__(self, spec: str, place: _TransitAddress, options: dict[str, str]) -> None:
        self._spec = spec
        self._place = place
        self._options = options
        self._logging_in = threading.Lock()
        self._token_of_certificate = ""

    def encrypt(self, secret: bytes) -> bytes:
        return self._asked("encrypt", "ciphertext", {"plaintext": b64encode(secret).decode()}).encode()

    def decrypt(self, wrapped: bytes) -> bytes:
        found = self._asked("decrypt", "plaintext", {"ciphertext": wrapped.decode("ascii", "replace")})
        try:
            return b64decode(found, validate=True)
        except ValueError:
            raise self._away("nonsense") from None

    def _asked(self, what: str, wanted: str, given: dict[str, str]) -> str:
        token = self._token()
        if token is not None:
            return self._answer(token, what, wanted, given)
        token, is_new = self._logged_in("")
        try:
            return self._answer(token, what, wanted, given)
        except KeyRevoked as error:
            if is_new or error.only_this:
                raise
        return self._answer(self._logged_in(token)[0], what, wanted, given)

    def _answer(self, token: str, what: str, wanted: str, given: dict[str, str]) -> str:
        path = f"/v1/{self._place.mount}/{what}/{self._place.key}"
        return self._text(self._posted(token, path, what, given), "data", wanted)

    # The token --------------------------------------------------------------------------------------------------

    def _token(self) -> str | None:
        """Return the token; None where a client certificate gets one. Raises KeySourceRefused."""
        options, environment = self._options, os.environ
        if "token-env" in options:
            name = options["token-env"]
            return environment.get(name) or self._without_token(f"the environment variable {name} is not set")
        if "token-file" in options:
            return self._read(options["token-file"])
        if "cert" in options:
            return None
        if file := environment.get(_FILES["token-file"]):
            return self._read(file)
        if token := environment.get(_TOKEN):
            return token
        return None if self._option("cert") else self._without_token("no access token is configured")

    def _read(self, path: str) -> str:
        try:
            with open(path, encoding="utf-8") as stream:
                text = stream.read(_MOST).strip()
        except (OSError, UnicodeDecodeError) as error:
            why = getattr(error, "strerror", None) or "the content is not UTF-8 text"
            return self._without_token(f"the token file {path} cannot be read: {why}")
        return text or self._without_token(f"the token file {path} is empty")

    def _without_token(self, why: str) -> str:
        fix = "set VAULT_TOKEN_FILE to a file with a token, or add token-file=, token-env= or cert= to the key source"
        raise KeySourceRefused(f"{self._spec}: {why}", fix=fix)

    def _logged_in(self, old: str) -> tuple[str, bool]:
        """Return a token from the client certificate, and whether it is new; `old` is one that no longer works."""
        with self._logging_in:
            if self._token_of_certificate not in ("", old):
                return self._token_of_certificate, False
            role = {"name": self._options["role"]} if "role" in self._options else {}
            answer = self._posted("", "/v1/auth/cert/login", _LOGIN, role)
            self._token_of_certificate = self._text(answer, "auth", "client_token")
            return self._token_of_certificate, True

    # Requests ---------------------------------------------------------------------------------------------------

    def _posted(self, token: str, path: str, what: str, given: dict[str, str]) -> bytes:
        """Return the body of a successful answer."""
        adapters, requests = _library("hvac.adapters"), _library("requests.exceptions")
        adapter = adapters.RawAdapter(
            base_uri=self._place.url,
            token=token or None,
            cert=self._certificate(),
            verify=self._option("ca") or True,
            timeout=(key_service.CONNECT_SECONDS, key_service.READ_SECONDS),
            allow_redirects=False,
            namespace=self._options.get("namespace") or os.environ.get("VAULT_NAMESPACE") or None,
        )
        # Requests without TLS must stay on this machine, whatever proxy the environment names.
        adapter.session.trust_env = not key_service.is_plain(self._place.url)
        try:
            answer = adapter.post(path, raise_exception=False, json=given, stream=True)
            status = answer.status_code
            body: bytes = answer.raw.read(_MOST, decode_content=True)
        except requests.SSLError:
            told = (
                f"the TLS certificate of {self._spec} is not trusted, or {self._spec} refused the certificate of "
                "this endpoint"
            )
            raise KeySourceAway(told, fix="add the certificate authority to the key source: ca=/path") from None
        except requests.RequestException as error:
            raise self._away(type(error).__name__) from None
        except OSError as error:
            told = f"{self._spec}: a certificate file cannot be used: {error.strerror or error}"
            raise KeySourceRefused(told, fix="check the files given with ca=, cert= and key=") from None
        finally:
            adapter.close()
        if status != 200:
            raise self._refusal(what, status, body)
        return body

    def _certificate(self) -> str | tuple[str, str] | None:
        cert, key = self._option("cert"), self._option("key")
        return (cert, key) if cert and key else cert

    def _option(self, name: str) -> str | None:
        return self._options.get(name) or os.environ.get(_FILES[name]) or None

    def _refusal(self, what: str, status: int, body: bytes) -> LifeboatError:
        told = _errors(body)
        if told is None:
            return self._away(f"another service answered with status {status}")
        if what == _LOGIN and status in (400, 403, 404):
            fix = "in the key service, allow the certificate of this endpoint to log in (auth/cert)"
            return KeyRevoked(f"{self._spec} refused to {what} (status {status})", fix=fix)
        if status in (403, 404) or (status == 400 and any(words in told for words in _GONE)):
            fix = (
                "in the key service, allow the token of this endpoint to update "
                f"{self._place.mount}/{what}/{self._place.key}"
            )
            return KeyRevoked(f"{self._spec} refused to {what} (status {status})", fix=fix)
        if status != 400:
            return self._away(f"status {status}")
        if what == "decrypt" and any(words in told for words in _OTHER):
            fix = "lower min_decryption_version of the key to the version that encrypted the data key"
            opens = f"{self._spec} cannot decrypt this data key with any version of the key that is allowed"
            return KeyRevoked(opens, only_this=True, fix=fix)
        return KeySourceRefused(f"{self._spec} refused to {what}, because the request is not valid (status {status})")

    def _text(self, body: bytes, part: str, name: str) -> str:
        try:
            found = json.loads(body)[part][name]
        except (ValueError, RecursionError, KeyError, TypeError):
            found = None
        if not isinstance(found, str) or not found:
            raise self._away("nonsense")
        return found

    def _away(self, why: str) -> KeySourceAway:
        return KeySourceAway(f"{self._spec} does not respond ({why})")


def _spec(where: str) -> str:
    return f"{SCHEME}:{where}"


def _opened(where: str, outside: Path) -> ServiceKey:
    address, options = key_service.parse_options(_spec(where), where, _OPTIONS)
    key_service.check_address(_spec(where), address)
    found = urlsplit(address)
    place = _PLACE.fullmatch(found.path)
    if place is None or found.fragment or ".." in found.path:
        raise KeySourceRefused(
            f"{_spec(where)} names no key",
            fix="give the address of a key: transit:https://vault.example.com:8200/transit/keys/NAME",
        )
    for name in _FILES.keys() & options.keys():
        place_outside(options[name], outside)
    named = _TransitAddress(f"{found.scheme}://{found.netloc}", place[1], place[2])
    cache = key_service.parse_cache_seconds(_spec(where), options)
    return ServiceKey(_spec(where), _Transit(_spec(where), named, options), cache)


def _errors(body: bytes) -> str | None:
    """Return the service's own error text in lower case; None for an answer of a proxy."""
    try:
        found = json.loads(body)["errors"]
    except (ValueError, RecursionError, KeyError, TypeError):
        return None
    return " ".join(str(each) for each in found).lower() if isinstance(found, list) else None


def _library(name: str) -> Any:
    """Import a library. Raises KeySourceRefused where hvac is not installed."""
    try:
        return importlib.import_module(name)
    except ImportError:
        raise KeySourceRefused(
            f"key sources of the kind {SCHEME} need the Python package hvac, which is not installed",
            fix=install_command("hvac"),
        ) from None


KEY_SOURCE_KIND = TransitKind()
