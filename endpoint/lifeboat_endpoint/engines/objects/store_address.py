"""Address and options of an object store as endpoint.json holds them. None of them is secret.

`s3://BUCKET/PREFIX`, `gs://BUCKET/PREFIX`, `az://ACCOUNT/CONTAINER/PREFIX`; the prefix is optional. Credentials come
from the environment, from the identity of the machine or pod, or from a separate file.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import SplitResult, urlsplit

from lifeboat_keys.installers import extra_command
from lifeboat_vault import errors

if TYPE_CHECKING:
    from lifeboat_endpoint.engines.objects.obstore_bucket import ObstoreBucket

OPTIONS: Mapping[str, frozenset[str]] = {
    "s3": frozenset({"endpoint", "region", "credentials_file", "profile", "root_certificate", "timeout"}),
    "gs": frozenset({"endpoint", "service_account", "root_certificate", "timeout"}),
    "az": frozenset({"endpoint", "root_certificate", "timeout"}),
}
"""Options by scheme. `endpoint` is the address of a store that is not the cloud's own. `credentials_file` (as the AWS
tools write it, with `profile`) and `service_account` (JSON) are files with credentials. `root_certificate` is a file of
authorities to trust beside those of the system. `timeout` is the seconds for one request, in which 8 MiB have to pass:
increase it for a slow line."""

KEYS_COME_FROM: Mapping[str, str] = {
    "s3": "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in the environment, give a credentials_file, or assign a "
    "role to the machine",
    "gs": "give a service_account file, set GOOGLE_APPLICATION_CREDENTIALS, or assign a service account to the machine",
    "az": "set AZURE_STORAGE_ACCOUNT_KEY in the environment, or assign a managed identity to the machine",
}
"""What to do when credentials are missing, by scheme, as the fix of an error."""

_FILES = ("credentials_file", "service_account", "root_certificate")
_SECRET = re.compile(r"secret|key|token|passw|sas|credential|signature", re.IGNORECASE)
_BUCKET = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{1,220}")
_ACCOUNT = re.compile(r"[a-z0-9]{3,24}")
_PART = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_REGION = re.compile(r"[a-z0-9-]+")
_LONGEST_TIMEOUT = 600


class RequestTimeouts(NamedTuple):
    """Time limits of requests in seconds.

    A request takes at most `request`. The store may send nothing for `stalled` seconds, which include sending up to 8
    MiB. A failed request is retried at most `retries` times, and not later than `retrying` after its beginning.
    """

    connect: float = 5.0
    stalled: float = 20.0
    request: float = 60.0
    retries: int = 3
    retrying: float = 20.0


@dataclass(frozen=True)
class ObjectStore:
    """A checked address. `account` is set for Azure only; `endpoint` is "" for the cloud's own."""

    scheme: str
    account: str
    bucket: str
    prefix: str
    options: Mapping[str, str]

    @property
    def endpoint(self) -> str:
        return self.options.get("endpoint", "")

    @property
    def is_plain(self) -> bool:
        """Whether requests go without TLS, which is allowed on this machine only."""
        return self.endpoint.startswith("http:")

    def __str__(self) -> str:
        return f"{self.scheme}://" + "/".join(part for part in (self.account, self.bucket, self.prefix) if part)


def check_store_address(url: str, options: Mapping[str, str]) -> ObjectStore:
    """Return the checked address of an object store.

    Raises EndpointSettings for a malformed address, an unknown option, a secret, and plain HTTP to another machine.
    """
    parsed = _split(url)
    scheme = parsed.scheme
    if scheme not in OPTIONS:
        raise _refused(
            f"{scheme or 'nothing'}:// is not the scheme of a supported object store", fix="s3://, gs:// or az://"
        )
    if parsed.query or parsed.fragment or "@" in parsed.netloc:
        raise _refused(
            "the URL of the object store must contain only the bucket and a prefix", fix=KEYS_COME_FROM[scheme]
        )
    _check_options(scheme, options)
    account, bucket, prefix = _places(scheme, parsed)
    return ObjectStore(scheme, account, bucket, prefix, dict(options))


def open_store(store: ObjectStore, waits: RequestTimeouts | None = None) -> ObstoreBucket:
    """Open an object store for all threads of this process; a forked process must open its own. No request is sent yet.

    Raises EndpointSettings if a named file cannot be used, ServerMissing.
    """
    try:
        from lifeboat_endpoint.engines.objects import obstore_bucket
    except ImportError:
        raise errors.ServerMissing(
            "the library obstore, which object stores need, is not installed",
            fix=extra_command("scale"),
        ) from None
    return obstore_bucket.open_bucket(store, waits or _waits(store.options.get("timeout")))


def _waits(timeout: str | None) -> RequestTimeouts:
    return RequestTimeouts() if timeout is None else RequestTimeouts(stalled=float(timeout), request=float(timeout))


def _split(url: str) -> SplitResult:
    try:
        return urlsplit(url)
    except ValueError:
        raise _refused("the URL of the object store is invalid") from None


def _places(scheme: str, parsed: SplitResult) -> tuple[str, str, str]:
    """Return (account, bucket, prefix)."""
    parts = [parsed.netloc, *(part for part in parsed.path.strip("/").split("/") if parsed.path.strip("/"))]
    account = parts.pop(0) if scheme == "az" else ""
    if (account and not _ACCOUNT.fullmatch(account)) or not parts or not _BUCKET.fullmatch(parts[0]):
        shape = "az://ACCOUNT/CONTAINER/PREFIX" if scheme == "az" else f"{scheme}://BUCKET/PREFIX"
        raise _refused("the URL of the object store has no bucket", fix=shape)
    if not all(_PART.fullmatch(part) for part in parts[1:]):
        raise _refused("the prefix may contain only letters, digits, dots, dashes and single slashes")
    return account, parts[0], "/".join(parts[1:])


def _check_options(scheme: str, options: Mapping[str, str]) -> None:
    for name in sorted(options.keys() - OPTIONS[scheme]):
        if _SECRET.search(name):
            raise _refused(f"{name} is a secret and must not be in endpoint.json", fix=KEYS_COME_FROM[scheme])
        raise _refused(f"{name} is not an option for {scheme}://", fix=", ".join(sorted(OPTIONS[scheme])))
    if "endpoint" in options:
        _check_endpoint(options["endpoint"])
    for name in _FILES:
        if name in options and not Path(options[name]).is_absolute():
            raise _refused(f"the value of {name} must be an absolute path")
    if not _REGION.fullmatch(options.get("region", "any")):
        raise _refused("the region is invalid")
    timeout = options.get("timeout", "60")
    if not timeout.isdecimal() or not 1 <= int(timeout) <= _LONGEST_TIMEOUT:
        raise _refused(f"timeout must be 1 to {_LONGEST_TIMEOUT} seconds")


def _check_endpoint(endpoint: str) -> None:
    parsed = _split(endpoint)
    if parsed.scheme not in ("https", "http") or not parsed.hostname or parsed.query or parsed.fragment:
        raise _refused(
            "the option `endpoint` of the object store must be a URL that begins with https://", fix="https://HOST:PORT"
        )
    if "@" in parsed.netloc:
        raise _refused(
            "the option `endpoint` of the object store contains a password",
            fix="remove the password from endpoint.json",
        )
    if parsed.scheme == "http" and not _is_loopback(parsed.hostname):
        raise _refused(
            f"the connection to {parsed.hostname} would have no TLS",
            fix="use https://, or the loopback address of a proxy on this machine that adds TLS",
        )


def _is_loopback(host: str) -> bool:
    """Accept addresses only: a name would be resolved by a server that could answer anything."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _refused(message: str, *, fix: str | None = None) -> errors.EndpointSettings:
    return errors.EndpointSettings(message, fix=fix)
