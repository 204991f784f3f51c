"""Addresses of buckets. An address is complete: it also holds what the options of `remote add` say. It never holds a
secret.

    s3://BUCKET/PREFIX?endpoint=https://s3.example.com&region=eu-central-1
    gs://BUCKET/PREFIX
    az://ACCOUNT/CONTAINER/PREFIX
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from urllib.parse import parse_qsl, quote, urlsplit

from lifeboat_core.errors import BadSetting
from lifeboat_core.network import http_addresses
from lifeboat_core.remotes.probed_store.store_words import StoreWords

WORDS = StoreWords("bucket", "object", "store", "prefix")
S3, GOOGLE, AZURE = "s3", "gs", "az"
OPTIONS: Mapping[str, tuple[str, ...]] = {S3: ("endpoint", "region"), GOOGLE: ("endpoint",), AZURE: ("endpoint",)}
_BUCKET = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{1,220}")
_ACCOUNT = re.compile(r"[a-z0-9]{3,24}")
_PART = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_REGION = re.compile(r"[a-z0-9-]{1,60}")
DEFAULT_REGION = "us-east-1"
_FIX = "lifeboat remote add --help"


@dataclass(frozen=True, slots=True)
class BucketAddress:
    """A checked address. `account` is set for Azure only. `endpoint` and `region` are "" where the cloud's own ones
    count."""

    scheme: str
    account: str
    bucket: str
    prefix: str
    endpoint: str = ""
    region: str = ""

    @property
    def place(self) -> str:
        """Return the address without its options, for messages."""
        return f"{self.scheme}://" + "/".join(part for part in (self.account, self.bucket, self.prefix) if part)

    @property
    def url(self) -> str:
        """Return the address in its normal form."""
        options = (("endpoint", self.endpoint), ("region", self.region))
        query = "&".join(f"{name}={quote(value, safe='/:[]')}" for name, value in options if value)
        return f"{self.place}?{query}" if query else self.place

    @property
    def is_plain_http(self) -> bool:
        return bool(self.endpoint) and http_addresses.is_plain_http(self.endpoint)

    @property
    def is_on_this_machine(self) -> bool:
        return bool(self.endpoint) and http_addresses.is_loopback(http_addresses.parse_host(self.endpoint))


def parse_bucket_address(url: str) -> BucketAddress:
    """Return a checked address. Raises BadSetting, which does not repeat it: it may hold a secret."""
    try:
        parts = urlsplit(url.strip())
    except ValueError:
        raise _refused("the address is not a valid URL") from None
    scheme = parts.scheme.lower()
    shape = "az://ACCOUNT/CONTAINER/PREFIX" if scheme == AZURE else f"{scheme}://BUCKET/PREFIX"
    if scheme not in OPTIONS:
        raise _refused(
            "the address of a bucket has the form s3://BUCKET/PREFIX, gs://BUCKET/PREFIX or az://ACCOUNT/CONTAINER"
        )
    if "@" in parts.netloc or parts.fragment:
        raise _refused(
            f"the address must have the form {shape}, without credentials; give those with --credentials-stdin"
        )
    names = [parts.netloc, *(name for name in parts.path.strip("/").split("/") if parts.path.strip("/"))]
    account = names.pop(0) if scheme == AZURE else ""
    if (account and not _ACCOUNT.fullmatch(account)) or not names or not _BUCKET.fullmatch(names[0]):
        raise _refused(f"the address does not name a bucket; it must have the form {shape}")
    if not all(_PART.fullmatch(name) for name in names[1:]):
        raise _refused("the prefix may contain only letters, digits, dots, dashes and single slashes")
    found = BucketAddress(scheme, account, names[0], "/".join(names[1:]))
    return add_options(found, dict(parse_qsl(parts.query, keep_blank_values=True)))


def add_options(address: BucketAddress, options: Mapping[str, str]) -> BucketAddress:
    """Return the address with some options. Raises BadSetting, which repeats no value."""
    for name in options:
        if name not in OPTIONS[address.scheme]:
            # An unknown name may be a secret.
            named = repr(name) if name in OPTIONS[S3] else "a name after the ? in the address"
            raise _refused(f"{named} is not an option for {address.scheme}://")
    region, endpoint = options.get("region", address.region), options.get("endpoint", address.endpoint)
    if region and not _REGION.fullmatch(region):
        raise _refused("the region is invalid")
    return replace(address, region=region, endpoint=endpoint and http_addresses.normalize_address(endpoint))


def _refused(message: str) -> BadSetting:
    return BadSetting(message, fix=_FIX)
