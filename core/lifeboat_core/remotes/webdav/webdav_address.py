"""Addresses of folders on WebDAV servers: webdav+https://HOST[:PORT]/PATH. An address never holds a secret."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from lifeboat_core.errors import BadSetting
from lifeboat_core.network import http_addresses
from lifeboat_core.remotes.probed_store.store_words import StoreWords

WORDS = StoreWords("WebDAV folder", "file", "server", "folder")
_PREFIX = "webdav+"
_SHAPE = "webdav+https://HOST/PATH"


@dataclass(frozen=True, slots=True)
class WebdavAddress:
    """A checked address. `base` is the address of the folder for HTTP, without a slash at its end."""

    base: str

    @property
    def url(self) -> str:
        return f"{_PREFIX}{self.base}"

    @property
    def server(self) -> str:
        """Return the part that decides which server learns the password."""
        parts = urlsplit(self.base)
        return f"{parts.scheme}://{parts.netloc}"

    @property
    def is_on_this_machine(self) -> bool:
        return http_addresses.is_loopback(http_addresses.parse_host(self.base))


def parse_webdav_address(url: str) -> WebdavAddress:
    """Return a checked address. Raises BadSetting, which does not repeat it: it may hold a secret."""
    text = url.strip()
    try:
        parts = urlsplit(text)
    except ValueError:
        raise _refused("the address is not a valid URL") from None
    if "@" in parts.netloc:
        raise _refused(
            f"the address must have the form {_SHAPE}, without user name and password; give those with "
            "--credentials-stdin"
        )
    if not text.lower().startswith(_PREFIX) or not parts.netloc:
        raise _refused(f"the address of a WebDAV folder has the form {_SHAPE}")
    if parts.query or parts.fragment:
        raise _refused(f"the address must have the form {_SHAPE}, without ? and #")
    segments = unquote(parts.path.strip("/")).split("/")
    if parts.path.strip("/") and any(segment in ("", ".", "..") for segment in segments):
        raise _refused("the path of the address must not contain empty segments, . or ..")
    plain = text[len(_PREFIX) :]
    host = parts.hostname or ""
    if http_addresses.is_plain_http(plain.lower()) and not http_addresses.is_loopback(host):
        raise _refused(
            "webdav+http:// is allowed only for a server on this machine, because others could read the password. Use "
            "webdav+https://"
        )
    return WebdavAddress(http_addresses.normalize_address(plain))


def _refused(message: str) -> BadSetting:
    return BadSetting(message, fix="lifeboat remote add --help")
