"""Key source that is a remote service, shared by all threads of one process.

Every request ends in time, even if the service answers byte by byte. A refusal is cached for some seconds. So is a
timeout, for longer each time, so that not all threads of a process wait for the same silent service.
"""

from __future__ import annotations

import copy
import hashlib
import ipaddress
import logging
import os
import threading
import time
from collections.abc import Callable, Collection
from concurrent.futures import Future
from typing import Protocol
from urllib.parse import parse_qsl, urlsplit

from lifeboat_alf.errors import LifeboatError
from lifeboat_vault.at_rest.key_sources.key_source_contract import KeySource
from lifeboat_vault.errors import KeyRevoked, KeySourceAway, KeySourceRefused, VaultDamaged

CONNECT_SECONDS, READ_SECONDS = 3.0, 5.0
"""Time limits of each of two attempts."""
CACHE_SECONDS = 300.0
CACHE = "cache"
"""Option of a specification that overrides the cache time."""
_SHORTEST_CACHE, _LONGEST_CACHE = 10, 3600
_ANSWER_SECONDS = 8.0
"""Time limit of both attempts together."""
_ROOM_SECONDS = 0.5
REFUSED_SECONDS = 5.0
_AWAY_SECONDS, _LONGEST_AWAY = 1.0, 15.0
_MOST_AT_ONCE = 2
_MOST_LEFT = 16
"""Maximum abandoned threads that still wait for an answer."""
_MOST_REFUSED = 1000
_CHECKSUM = 8

Parts = tuple[str, dict[str, str]]


class KeyService(Protocol):
    """A service that is asked directly. Both methods raise KeyRevoked, KeySourceAway, KeySourceRefused.

    Bytes wrapped by another key or for another purpose count as revoked. No message repeats what was sent or received.
    """

    def encrypt(self, secret: bytes) -> bytes: ...

    def decrypt(self, wrapped: bytes) -> bytes: ...


class ServiceKey:
    """A `KeySource` backed by a service. A checksum precedes the wrapped bytes, to tell damage from another key."""

    def __init__(
        self, spec: str, service: KeyService, cache_seconds: float, *, now: Callable[[], float] = time.monotonic
    ) -> None:
        self._spec = spec
        self._service = service
        self._cache_seconds = cache_seconds
        self._now = now
        self._room = threading.Condition()
        self._asking = 0
        self._left = 0
        self._refused: dict[tuple[str, bytes], tuple[float, LifeboatError]] = {}
        self._silences = 0
        self._silent_until = 0.0

    @property
    def spec(self) -> str:
        return self._spec

    @property
    def cache_seconds(self) -> float:
        return self._cache_seconds

    def wrap(self, secret: bytes) -> bytes:
        found = self._asked("encrypt", b"", lambda: self._service.encrypt(secret))
        return _checksum(found) + found

    def unwrap(self, wrapped: bytes) -> bytes:
        checksum, kept = wrapped[:_CHECKSUM], wrapped[_CHECKSUM:]
        if checksum != _checksum(kept):
            raise VaultDamaged(f"a data key that is encrypted with {self._spec} is damaged")
        return self._asked("decrypt", kept, lambda: self._service.decrypt(kept))

    def _asked(self, what: str, subject: bytes, ask: Callable[[], bytes]) -> bytes:
        self._enter(what, subject)
        try:
            answer = self._answer(ask)
        except (KeyRevoked, KeySourceRefused) as error:
            self._leave(silent=False)
            self._remember(what, subject, error)
            raise
        except KeySourceAway:
            self._leave(silent=True)
            raise
        except BaseException:
            self._leave(silent=False)
            raise
        self._leave(silent=False)
        return answer

    def _enter(self, what: str, subject: bytes) -> None:
        """Raise a cached refusal without asking."""
        with self._room:
            ends = self._now() + _ROOM_SECONDS
            while True:
                now = self._now()
                self._raise_known(now, what, subject)
                if self._asking < (1 if self._silences else _MOST_AT_ONCE):
                    self._asking += 1
                    return
                if self._silences or now >= ends:
                    raise KeySourceAway(f"{self._spec} is busy: other requests to this key source are waiting")
                self._room.wait(ends - now)

    def _raise_known(self, now: float, what: str, subject: bytes) -> None:
        for key in ((what, b""), (what, subject)):
            until, refused = self._refused.get(key, (0.0, None))
            if refused is not None and now < until:
                raise copy.copy(refused)
        if now < self._silent_until:
            raise KeySourceAway(
                f"{self._spec} did not respond to an earlier request; Lifeboat waits before the next request"
            )
        if self._left >= _MOST_LEFT:
            raise KeySourceAway(f"{self._spec} has not answered {self._left} earlier requests")

    def _leave(self, *, silent: bool) -> None:
        with self._room:
            self._asking -= 1
            self._silences = self._silences + 1 if silent else 0
            if silent:
                wait = min(_AWAY_SECONDS * 2 ** (self._silences - 1), _LONGEST_AWAY)
                self._silent_until = self._now() + wait
            self._room.notify_all()

    def _remember(self, what: str, subject: bytes, error: KeyRevoked | KeySourceRefused) -> None:
        only_this = isinstance(error, KeyRevoked) and error.only_this
        with self._room:
            now = self._now()
            if len(self._refused) >= _MOST_REFUSED:
                self._refused = {key: kept for key, kept in self._refused.items() if now < kept[0]}
            self._refused[what, subject if only_this else b""] = (now + REFUSED_SECONDS, error)

    def _answer(self, ask: Callable[[], bytes]) -> bytes:
        """Ask in a separate thread, which is abandoned when its time is over."""
        future: Future[bytes] = Future()

        def run() -> None:
            try:
                future.set_result(ask())
            except BaseException as error:
                future.set_exception(error)

        threading.Thread(target=run, name="key source", daemon=True).start()
        try:
            return future.result(_ANSWER_SECONDS)
        except LifeboatError:
            raise
        except TimeoutError:
            with self._room:
                self._left += 1
            future.add_done_callback(self._came_back)
            raise KeySourceAway(f"{self._spec} did not respond within {_ANSWER_SECONDS:.0f} seconds") from None
        except Exception as error:
            raise KeySourceAway(f"{self._spec} could not be reached ({type(error).__name__})") from None

    def _came_back(self, future: Future[bytes]) -> None:
        with self._room:
            self._left -= 1


_OPEN: dict[tuple[int, str], ServiceKey] = {}


def share_service_key(spec: str, make: Callable[[], ServiceKey]) -> ServiceKey:
    """Return the source of this specification, shared by all of this process."""
    key = (os.getpid(), spec)
    found = _OPEN.get(key)
    return found if found is not None else _OPEN.setdefault(key, make())


def check_key_source(source: KeySource) -> None:
    """Check that a source wraps and unwraps. Raises KeySourceRefused, KeySourceAway."""
    trial = os.urandom(32)
    try:
        same = source.unwrap(source.wrap(trial)) == trial
    except KeyRevoked as error:
        raise KeySourceRefused(error.message, fix=error.fix) from None
    if not same:
        raise KeySourceRefused(
            f"{source.spec} returned a different value when it decrypted a value that it had encrypted"
        )


def _checksum(kept: bytes) -> bytes:
    return hashlib.blake2b(kept, digest_size=_CHECKSUM, person=b"lifeboat wrapped").digest()


def silence_loggers(*names: str) -> None:
    """Silence loggers of libraries that log requests and answers, which contain unencrypted data keys."""
    for name in names:
        logger = logging.getLogger(name)
        if logger.level < logging.INFO:
            logger.setLevel(logging.INFO)


# Specifications -------------------------------------------------------------------------------------------------------


def parse_options(spec: str, where: str, known: Collection[str]) -> Parts:
    """Return `where` without its options, and the options by name. Raises KeySourceRefused for an option that is not
    `known`, without repeating it: it may be a misplaced secret."""
    kind = spec.partition(":")[0]
    place, _, query = where.partition("?")
    try:
        pairs = parse_qsl(query, keep_blank_values=True, strict_parsing=True) if query else []
    except ValueError:
        raise KeySourceRefused(
            f"{kind}: the text after the question mark must have the form name=value&name=value"
        ) from None
    options = dict(pairs)
    wrong = sorted({name for name, value in pairs if name not in known or not value})
    if wrong or len(options) != len(pairs):
        raise KeySourceRefused(
            f"{kind}: allowed options are {', '.join(sorted(known))}, each at most once and with a value"
        )
    return place, options


def parse_cache_seconds(spec: str, options: dict[str, str]) -> float:
    """Return the cache time. Raises KeySourceRefused for one that is too short or too long."""
    text = options.get(CACHE)
    if text is None:
        return CACHE_SECONDS
    if not text.isascii() or not text.isdecimal() or not _SHORTEST_CACHE <= int(text[:9]) <= _LONGEST_CACHE:
        raise KeySourceRefused(
            f"{spec}: the option {CACHE} must be a number of seconds from {_SHORTEST_CACHE} to {_LONGEST_CACHE}"
        )
    return float(text)


def check_address(spec: str, url: str) -> None:
    """Check an address. Raises KeySourceRefused for one that is not https, except on this machine, and for one with a
    password."""
    try:
        found = urlsplit(url)
        host, is_plain, _ = found.hostname or "", found.scheme == "http", found.port
    except ValueError:
        raise KeySourceRefused("the address of the key source is not a valid URL") from None
    if found.username is not None or found.password is not None:
        raise KeySourceRefused("the address of a key source must not contain a user name or password")
    if not host or not (found.scheme == "https" or (is_plain and _is_loopback(host))):
        raise KeySourceRefused(f"the address of the key source {spec} must begin with https://")


def is_plain(url: str) -> bool:
    """Return whether a checked address is used without TLS."""
    return urlsplit(url).scheme == "http"


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
