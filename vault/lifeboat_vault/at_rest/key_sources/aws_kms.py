"""A key in AWS KMS: `aws-kms:KEY`, the ARN, id or alias of a symmetric key, which never leaves the service.

    aws-kms:arn:aws:kms:eu-central-1:111122223333:key/...   or alias/NAME, or the id of a key
        ?region=eu-central-1     where the name does not say it; else as boto3 finds it
        &endpoint=https://...    another address of the service, of a private network
        &context=TEXT            bound to what is wrapped: the owner of the key can ask for it in the key's policy
        &cache=300               seconds until the service is asked again

Credentials are boto3's: the environment, its files, the role of the machine.
"""

from __future__ import annotations

import importlib
import re
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from lifeboat_alf.errors import LifeboatError
from lifeboat_keys.installers import install_command
from lifeboat_vault.at_rest.key_sources import key_service
from lifeboat_vault.at_rest.key_sources.key_service import ServiceKey
from lifeboat_vault.errors import KeyRevoked, KeySourceAway, KeySourceRefused

SCHEME = "aws-kms"
PURPOSE = {"purpose": "lifeboat-data-keys"}
"""The encryption context of every wrapped key; CloudTrail logs it."""
_OPTIONS = ("region", "endpoint", "context", key_service.CACHE)
_ARN = re.compile(r"arn:[a-z-]+:kms:([a-z0-9-]+):\d{12}:(key|alias)/[\w/:-]{1,256}")
_NAME = re.compile(r"(alias/[\w/:-]{1,250}|(mrk-)?[0-9a-f-]{1,64})")
_TRIES = 2
_MOST = 65536
"""Maximum bytes of an answer."""
_REVOKED = {"AccessDeniedException", "DisabledException", "KMSInvalidStateException", "NotFoundException"}
_OTHER = {"IncorrectKeyException", "InvalidCiphertextException"}
_CREDENTIALS = {
    "AccessDenied",
    "ExpiredTokenException",
    "IncompleteSignature",
    "InvalidClientTokenId",
    "InvalidSignatureException",
    "MissingAuthenticationTokenException",
    "SignatureDoesNotMatch",
    "UnrecognizedClientException",
}
_WRONG_KEY = {"InvalidKeyUsageException", "InvalidArnException", "ValidationException", "UnsupportedOperationException"}


class AwsKmsKind:
    """`KeySourceKind` of keys in AWS KMS. It makes none; the owner of the key does."""

    def open(self, where: str, *, outside: Path) -> ServiceKey:
        return key_service.share_service_key(_spec(where), lambda: _opened(where))

    def make(self, where: str, *, outside: Path) -> None:
        key_service.check_key_source(self.open(where, outside=outside))


class _AwsKms:
    """`KeyService` of one key in AWS KMS."""

    def __init__(self, spec: str, key: str, *, region: str | None, endpoint: str | None, context: str | None) -> None:
        self._spec = spec
        self._key = key
        self._region = region
        self._endpoint = endpoint
        self._context = PURPOSE | ({"context": context} if context else {})
        self._loading = threading.Lock()
        self._client: Any = None

    def encrypt(self, secret: bytes) -> bytes:
        return self._asked("encrypt", "CiphertextBlob", Plaintext=secret)

    def decrypt(self, wrapped: bytes) -> bytes:
        return self._asked("decrypt", "Plaintext", CiphertextBlob=wrapped)

    def _asked(self, what: str, wanted: str, **given: bytes) -> bytes:
        exceptions = _library("botocore.exceptions")
        try:
            ask = getattr(self._connected(), what)
            found: bytes = ask(KeyId=self._key, EncryptionContext=self._context, **given)[wanted]
        except exceptions.ClientError as error:
            raise self._refusal(what, str(error.response.get("Error", {}).get("Code", ""))) from None
        except (exceptions.NoCredentialsError, exceptions.PartialCredentialsError):
            raise self._without_credentials("no credentials for AWS were found") from None
        except exceptions.NoRegionError:
            told = f"{self._spec}: the AWS region of the key is not known"
            raise KeySourceRefused(told, fix=f"add the region: {self._spec}?region=eu-central-1") from None
        except exceptions.BotoCoreError as error:
            raise KeySourceAway(f"{self._spec} does not respond ({type(error).__name__})") from None
        return found

    def _connected(self) -> Any:
        """Return the client. Raises KeySourceRefused where boto3 was configured to use an address that is not https."""
        with self._loading:
            if self._client is None:
                client = self._made(None)
                key_service.check_address(self._spec, client.meta.endpoint_url)
                # Requests without TLS must stay on this machine, whatever proxy the environment names.
                self._client = self._made({}) if key_service.is_plain(client.meta.endpoint_url) else client
            return self._client

    def _made(self, proxies: dict[str, str] | None) -> Any:
        session, config = _library("boto3").session.Session(), _limits(proxies)
        client = session.client("kms", region_name=self._region, endpoint_url=self._endpoint, config=config)
        client.meta.events.register("before-send.kms", partial(self._sent, client))
        return client

    def _sent(self, client: Any, request: Any, **_: Any) -> Any:
        """Return the answer to a request with a bounded body, because the library would read it without limit. Raises
        KeySourceAway for one that is too long."""
        request.stream_output = True
        answer = client._endpoint.http_session.send(request)
        body = answer.raw.read(_MOST + 1)
        answer.raw.close()
        if len(body) > _MOST:
            raise KeySourceAway(f"{self._spec} sent a response that is too long")
        made = _library("botocore.awsrequest").AWSResponse
        return made(answer.url, answer.status_code, answer.headers, _KmsResponseBody(body))

    def _refusal(self, what: str, code: str) -> LifeboatError:
        allow = f"allow this endpoint the action kms:{what.capitalize()} on the key, and enable the key"
        if code in _REVOKED:
            return KeyRevoked(f"{self._spec} refused to {what} (error {code})", fix=allow)
        if code in _OTHER:
            told = (
                f"the data is protected by a different key than {self._spec}, or with a different encryption "
                f"context (error {code})"
            )
            return KeyRevoked(
                told, only_this=True, fix="give the key and the encryption context that the data key was encrypted with"
            )
        if code in _CREDENTIALS:
            return self._without_credentials(f"AWS refused the credentials (error {code})")
        if code in _WRONG_KEY:
            told = f"{self._spec} cannot encrypt data keys (error {code})"
            return KeySourceRefused(told, fix="give a symmetric key that can encrypt and decrypt")
        return KeySourceAway(f"{self._spec} does not respond ({code or 'no reason given'})")

    def _without_credentials(self, told: str) -> KeySourceRefused:
        """Return the error, and let the next request look for credentials again."""
        self._client = None
        fix = "give this machine an AWS role, or set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
        return KeySourceRefused(f"{self._spec}: {told}", fix=fix)


class _KmsResponseBody(NamedTuple):
    """A response body with the interface that the library expects."""

    data: bytes

    def stream(self) -> Iterator[bytes]:
        yield self.data


def _spec(where: str) -> str:
    return f"{SCHEME}:{where}"


def _opened(where: str) -> ServiceKey:
    spec = _spec(where)
    key, options = key_service.parse_options(spec, where, _OPTIONS)
    arn = _ARN.fullmatch(key)
    if arn is None and not _NAME.fullmatch(key):
        raise KeySourceRefused(f"{spec} names no key: add the ARN of the key, its id or alias/NAME")
    region = options.get("region")
    if arn is not None and region not in (None, arn[1]):
        raise KeySourceRefused(f"{spec}: the key is in the region {arn[1]}, but the given region is {region}")
    endpoint = options.get("endpoint")
    if endpoint is not None:
        key_service.check_address(spec, endpoint)
    cache = key_service.parse_cache_seconds(spec, options)
    found = arn[1] if arn is not None else region
    return ServiceKey(spec, _AwsKms(spec, key, region=found, endpoint=endpoint, context=options.get("context")), cache)


def _limits(proxies: dict[str, str] | None) -> Any:
    return _library("botocore.config").Config(
        connect_timeout=key_service.CONNECT_SECONDS,
        read_timeout=key_service.READ_SECONDS,
        retries={"total_max_attempts": _TRIES, "mode": "standard"},
        proxies=proxies,
    )


def _library(name: str) -> Any:
    """Import a library. Raises KeySourceRefused where boto3 is not installed."""
    try:
        found = importlib.import_module(name)
    except ImportError:
        raise KeySourceRefused(
            f"key sources of the kind {SCHEME} need the Python package boto3, which is not installed",
            fix=install_command("boto3"),
        ) from None
    key_service.silence_loggers("botocore")
    return found


KEY_SOURCE_KIND = AwsKmsKind()
