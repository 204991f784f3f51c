"""Fetch the history of an agent from the service of the reference client (`GET /agents/{id}/restore`)."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple
from urllib.parse import urlsplit

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_core.errors import BadSetting, ExchangeError, NetworkError
from lifeboat_core.exchange.alf_client import ClientSettings
from lifeboat_core.network import http_addresses
from lifeboat_core.network.http_session import HttpSession
from lifeboat_core.remotes.endpoint import endpoint_shapes as shapes
from lifeboat_vault.errors import RemoteDamaged

LARGEST_FILE = 8 << 30
"""Maximum bytes of one fetched file."""
MOST_DELTAS = 100_000


@dataclass(frozen=True, slots=True)
class HostedFile:
    """A snapshot or a delta that was fetched into `file`. `time` is "" if the service names none."""

    sequence: int
    time: str
    is_delta: bool
    file: Path


class _ListedFile(NamedTuple):
    """A file that the service lists and that is not fetched yet."""

    sequence: int
    time: str
    is_delta: bool
    url: str


class HostedService:
    """The service at the address in `settings`. Nothing is requested before `fetch_history`."""

    def __init__(self, settings: ClientSettings) -> None:
        """Check the settings. Raises ExchangeError.HOSTED_HISTORY for an unusable address or key."""
        if not settings.api_key:
            raise ExchangeError.HOSTED_HISTORY(
                "the settings of the ALF client contain no API key, and the variable ALF_API_KEY is not set"
            )
        try:
            self._base = http_addresses.normalize_address(settings.api_url)
        except BadSetting as error:
            raise ExchangeError.HOSTED_HISTORY(
                f"the URL in the settings of the ALF client cannot be used: {error.message}"
            ) from error
        self._key = settings.api_key

    def fetch_history(self, agent_id: str, folder: Path) -> list[HostedFile]:
        """Fetch the snapshot and every delta after it into a folder, in order; none for an agent that the service does
        not know. Raises ExchangeError.HOSTED_HISTORY."""
        with _speaking():
            found = self._restore_document(agent_id)
            if found is None:
                return []
            return [
                HostedFile(one.sequence, one.time, one.is_delta, _fetched(one.url, folder / f"hosted-{one.sequence}"))
                for one in _listed(found)
            ]

    def _restore_document(self, agent_id: str) -> JsonObject | None:
        with contextlib.closing(HttpSession(self._base, token=self._key)) as session:
            reply = session.call("GET", f"/agents/{agent_id}/restore", headers={"Accept": "application/json"})
        if reply.status == 404:
            return None
        if reply.status in (401, 403):
            raise ExchangeError.HOSTED_HISTORY(f"the service rejected the API key (HTTP status {reply.status})")
        if reply.status != 200:
            raise ExchangeError.HOSTED_HISTORY(f"the service answered with HTTP status {reply.status}")
        return shapes.check_object(shapes.parse_document(reply.body))


def _listed(found: JsonObject) -> list[_ListedFile]:
    """Return the files of an answer, oldest first, without deltas that the snapshot includes."""
    snapshot = found.get("snapshot")
    base = [] if snapshot is None else [_listed_file(snapshot, is_delta=False)]
    deltas = shapes.read_items(found, "deltas", lambda one: _listed_file(one, is_delta=True))
    if len(deltas) > MOST_DELTAS:
        raise RemoteDamaged(f"the service listed {len(deltas)} deltas; the limit is {MOST_DELTAS}")
    newer = {one.sequence: one for one in deltas if not base or one.sequence > base[0].sequence}
    return [*base, *(newer[sequence] for sequence in sorted(newer))]


def _listed_file(found: Any, *, is_delta: bool) -> _ListedFile:
    sequence, time = shapes.read_number(found, "sequence"), shapes.read_words(found, "created_at")
    return _ListedFile(sequence, time, is_delta, shapes.read_field(found, "url", str))


def _fetched(url: str, path: Path) -> Path:
    """Fetch a signed address, without sending the user's key."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.netloc or parts.username is not None:
        raise RemoteDamaged("the service returned an invalid URL for a download")
    place = f"{parts.path or '/'}{'?' + parts.query if parts.query else ''}"
    with contextlib.closing(HttpSession(f"{parts.scheme}://{parts.netloc}")) as session, _private(path) as target:
        reply = session.call("GET", place, into=target, most=LARGEST_FILE)
    if not 200 <= reply.status < 300:
        raise ExchangeError.HOSTED_HISTORY(f"the download from the service failed with HTTP status {reply.status}")
    return path


@contextlib.contextmanager
def _private(path: Path) -> Iterator[BinaryIO]:
    with path.open("xb") as target:
        path.chmod(0o600)
        yield target


@contextlib.contextmanager
def _speaking() -> Iterator[None]:
    """Turn errors of the network and of answers into ExchangeError.HOSTED_HISTORY."""
    try:
        yield
    except (NetworkError, RemoteDamaged, ValueError) as error:
        message = getattr(error, "message", "the service returned an invalid URL for a download")
        raise ExchangeError.HOSTED_HISTORY(message) from error
