"""Requests to an endpoint: JSON and files in both directions, errors translated to errors of remotes, and retries
where a retry is harmless."""

from __future__ import annotations

import contextlib
import json
import ssl
import tempfile
import time
from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO
from urllib.parse import quote

from lifeboat_core.errors import NetworkError, NetworkUnreachable, NotPrivate, NotTheOne
from lifeboat_core.home.context import Context
from lifeboat_core.network import http_addresses, http_certificates
from lifeboat_core.network.http_session import LARGEST_BODY, USUAL, HttpSession, Progress, SessionReply, TransferPace
from lifeboat_core.remotes import remote_registry
from lifeboat_core.remotes.contract import RemoteConfig
from lifeboat_core.remotes.endpoint import endpoint_problems
from lifeboat_core.remotes.endpoint import endpoint_shapes as shapes
from lifeboat_core.remotes.request_retries import Wait, call_patiently
from lifeboat_vault.errors import (
    RemoteDamaged,
    RemoteDenied,
    RemoteError,
    RemoteRefused,
    RemoteUnreachable,
    RemoteUntrusted,
)

_LARGEST = 64 * 1024
"""Bytes of a certificate with what may surround it."""


class PinnedAuthority:
    """The authority of one remote. Its certificate is fetched when it is missing, differs from the pin, or has
    expired."""

    def __init__(self, context: Context, config: RemoteConfig, pace: TransferPace) -> None:
        self._context = context
        self._config = config
        self._pace = pace
        self._fetched = False

    @property
    def is_own(self) -> bool:
        """Whether the endpoint has its own certificate authority, which is pinned."""
        return bool(self._config.pin) and not http_addresses.is_plain_http(self._config.url)

    def tls(self) -> ssl.SSLContext | None:
        """Return what to trust; None for the authorities of the system. Raises NetworkUnreachable, NotTheOne."""
        if not self.is_own:
            return None
        kept = remote_registry.load_authority(self._context, self._config.name)
        if kept is not None:
            with contextlib.suppress(NotTheOne):  # another program wrote it, or the pin is new
                return http_certificates.trust_only(http_certificates.choose_pinned(kept.encode(), self._config.pin))
        return http_certificates.trust_only(self._fetch())

    def renew(self) -> bool:
        """Fetch the certificate again unless that just happened: an authority may have renewed it with the same key.

        Return whether it changed. Raises NetworkUnreachable, NotTheOne.
        """
        if not self.is_own or self._fetched:
            return False
        return remote_registry.load_authority(self._context, self._config.name) != self._fetch()

    def _fetch(self) -> str:
        """Return the certificate that the pin names, from any server that answers: nothing secret is sent, and the
        answer is checked against the pin."""
        self._fetched = True
        session = HttpSession(self._config.url, tls=http_certificates.trust_anybody(), pace=self._pace)
        with contextlib.closing(session):
            reply = session.call("GET", http_certificates.PLACE, most=_LARGEST)
        if reply.status != 200:
            raise NetworkUnreachable(
                f"the endpoint did not return the certificate of its certificate authority (HTTP status {reply.status})"
            )
        pem = http_certificates.choose_pinned(reply.body, self._config.pin)
        remote_registry.save_authority(self._context, self._config.name, pem)
        return pem


MOST_ITEMS = 5_000_000
"""Items of one list: far more than a century of states, one each ten minutes."""
LARGEST_FILE = 64 * 1024**3
SLOWEST = 1024 * 1024
"""Bytes a second that an endpoint is expected to process before it answers."""
FILE = "application/octet-stream"
_JSON = "application/json"


class EndpointCalls:
    """Requests to one endpoint. Nothing is sent before the first call. Not for two threads at once."""

    def __init__(
        self,
        context: Context,
        config: RemoteConfig,
        token: str | None,
        *,
        pace: TransferPace = USUAL,
        wait: Wait = time.sleep,
        progress: Progress | None = None,
    ) -> None:
        self._context = context
        self._config = config
        self._token = token
        self._pace = pace
        self._wait = wait
        self._progress = progress
        self._authority = PinnedAuthority(context, config, pace)
        self._session: HttpSession | None = None

    def follow(self, progress: Progress) -> None:
        """Report to `progress` from now on how much of a body was transferred."""
        self._progress = progress
        if self._session is not None:
            self._session.progress = progress

    # What is asked ----------------------------------------------------------------------------------------------

    def get(self, path: str, **query: str | int) -> Any:
        """Return a JSON document. Raises RemoteError."""
        return shapes.parse_document(self.ask("GET", path, query=query).body)

    def send(
        self,
        method: str,
        path: str,
        document: Any,
        *,
        headers: Mapping[str, str] | None = None,
        query: Mapping[str, str | int] | None = None,
        again: bool = True,
        most: int = LARGEST_BODY,
        patience: float = 0.0,
        token: str | None = None,
    ) -> Any:
        """Send a JSON document and return that of the answer, None if it has none.

        `again`: whether a retry is harmless if it is unknown whether the request arrived. `patience` and `token` are as
        in `ask`. Raises RemoteError.
        """
        content = json.dumps(document, separators=(",", ":")).encode()
        sent = {**(headers or {}), "Content-Type": _JSON}
        how: dict[str, Any] = {"again": again, "most": most, "patience": patience, "token": token}
        reply = self.ask(method, path, query=query, headers=sent, content=content, **how)
        return shapes.parse_document(reply.body)

    def delete(self, path: str) -> None:
        """Delete something. That it is gone already is no error here: the caller takes care of it."""
        self.ask("DELETE", path)

    def ask(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str | int] | None = None,
        headers: Mapping[str, str] | None = None,
        content: bytes | BinaryIO | None = None,
        again: bool = True,
        most: int = LARGEST_BODY,
        patience: float = 0.0,
        token: str | None = None,
    ) -> SessionReply:
        """Make one request with an answer of at most `most` bytes.

        `patience`: seconds that it may take in addition to the pace. `token` replaces the usual one. A file is sent
        from its current position, also by a retry. Raises RemoteError.
        """
        start = None if content is None or isinstance(content, bytes) else content.tell()

        def once() -> SessionReply:
            if start is not None and not isinstance(content, bytes | None):
                content.seek(start)
            sent = {"Accept": f"{_JSON}, application/problem+json", **(headers or {})}
            options = {"query": query, "headers": sent, "content": content, "most": most, "patience": patience}
            return self._call(method, path, token=token, **options)

        return call_patiently(once, self._wait) if again else once()

    def fetch(self, path: str, *, query: Mapping[str, str | int] | None = None) -> tuple[BinaryIO, SessionReply]:
        """Return an unnamed file of the home at its beginning, and the answer that brought it. Raises RemoteError."""

        def once() -> tuple[BinaryIO, SessionReply]:
            with contextlib.ExitStack() as undo:
                target: BinaryIO = undo.enter_context(_unnamed(self._context))
                headers = {"Accept": FILE}
                reply = self._call("GET", path, query=query, headers=headers, into=target, most=LARGEST_FILE)
                target.seek(0)
                undo.pop_all()
                return target, reply

        return call_patiently(once, self._wait)

    def pages(self, path: str, name: str, *, limit: int, **query: str | int) -> Iterator[Any]:
        """Yield the items of a list that comes in pages. Raises RemoteError, RemoteDamaged when it does not end."""
        following: str | int | None = None
        count = 0
        while True:
            asked = {**query, "limit": limit} | ({} if following is None else {_following(query): following})
            page = self.get(path, **asked)
            found = page.get(name) if isinstance(page, dict) else None
            if not isinstance(found, list) or not all(isinstance(each, dict) for each in found):
                raise RemoteDamaged("the response of the endpoint is not a valid page of a list")
            yield from found
            count += len(found)
            last, following = following, page.get("next")
            if following is None:
                return
            if not found or count > MOST_ITEMS or not _leads_on(last, following):
                raise RemoteDamaged("the list in the response of the endpoint has no end")

    def close(self) -> None:
        if self._session is not None:
            self._session.close()

    # How it is asked --------------------------------------------------------------------------------------------

    def _call(self, method: str, path: str, *, token: str | None = None, **options: Any) -> SessionReply:
        """Try once, and once more with the current certificate of the authority if the known one does not hold."""
        if token is not None:
            options["headers"] = {**options["headers"], "Authorization": f"Bearer {token}"}
        try:
            reply = self._once(method, path, options)
        except NetworkError as error:
            raise self._as_remote(error) from None
        if not 200 <= reply.status < 300:
            raise self._addressed(endpoint_problems.make_remote_error(reply, secret=token or self._token))
        return reply

    def _once(self, method: str, path: str, options: Mapping[str, Any]) -> SessionReply:
        try:
            return self._opened().call(method, path, **options)
        except NotTheOne:
            if not self._authority.renew():
                raise
            self.close()
            self._session = None
            return self._opened().call(method, path, **options)

    def _opened(self) -> HttpSession:
        if self._session is None:
            tls = self._authority.tls()
            self._session = HttpSession(
                self._config.url, token=self._token, tls=tls, pace=self._pace, progress=self._progress
            )
        return self._session

    def _as_remote(self, error: NetworkError) -> RemoteError:
        if isinstance(error, NotTheOne):
            return self._addressed(RemoteUntrusted(error.message))
        if isinstance(error, NotPrivate):
            return RemoteRefused(error.message, fix=error.fix)
        return self._addressed(RemoteUnreachable(error.message))

    def _addressed(self, error: RemoteError) -> RemoteError:
        """Put this remote's name into the command that helps. A command from the server is never used."""
        if isinstance(error, RemoteDenied) and self._token is None:
            error.message = f"no token is stored for {self._config.name}"
        error.fix = None if error.fix is None else error.fix.replace("NAME", self._config.name)
        return error


def quote_segment(text: str) -> str:
    """Return a text as one segment of a path."""
    return quote(text, safe="")


def _leads_on(last: str | int | None, following: object) -> bool:
    """Return whether a page follows the one before it."""
    if isinstance(following, int) and not isinstance(following, bool):
        return last is None or (isinstance(last, int) and following > last)
    return isinstance(following, str) and (last is None or (isinstance(last, str) and following > last))


def _following(query: Mapping[str, str | int]) -> str:
    """Return the parameter that asks for the next page."""
    return "since" if "since" in query else "after"


def _unnamed(context: Context) -> BinaryIO:
    """Return a file that no other program can open, and that is gone with the process however that ends."""
    folder = context.home.restore_folder / "tmp"
    context.files.make_folders(folder, 0o700)
    return tempfile.TemporaryFile(dir=folder)
