"""Token buckets that the processes of one machine share, in a file of fixed size with a file lock around each change.

The file is read and written, not mapped into memory: on a full disk this is an error, while a mapping would end the
process. A key belongs to one of many groups. A full group gives up its fullest bucket, whose loss matters least. The
file contains digests of keys, made with a salt of the file.
"""

from __future__ import annotations

import contextlib
import hashlib
import math
import os
import struct
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from lifeboat_endpoint.server.rates.token_buckets import Buckets, take_token

_SALT_BYTES = 16
_BUCKET = struct.Struct("<16sdd")
"""Digest of the key, level, and the time of that level in seconds."""
_WAYS = 8
_GROUPS = 2048
_GROUP_BYTES = _WAYS * _BUCKET.size
_SIZE = _SALT_BYTES + _GROUPS * _GROUP_BYTES
_NONE = bytes(16)
_AHEAD = 1.0
"""Seconds that a time may be in the future: another process may have read the clock a little later."""
_PATIENCE = 0.05
"""Seconds to wait for the lock, which is normally held for microseconds."""


def make_rates_file(path: Path) -> None:
    """Make an empty file of full size, before the processes start that share it. Raises OSError."""
    for folder in (path.parent.parent, path.parent):
        folder.mkdir(mode=0o700, exist_ok=True)
    new = path.with_name(f".{path.name}.new")
    new.unlink(missing_ok=True)
    descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with open(descriptor, "wb") as file:
        file.write(os.urandom(_SALT_BYTES) + bytes(_SIZE - _SALT_BYTES))
    new.replace(path)


class FileRates:
    """Buckets in a file. If it cannot be used, or its lock is not free in time, a bucket of this process decides."""

    def __init__(self, path: Path, rate: float, burst: float) -> None:
        """Raises OSError, also on systems without such locks."""
        import fcntl

        self._lock = fcntl.flock
        self._alone, self._release = fcntl.LOCK_EX | fcntl.LOCK_NB, fcntl.LOCK_UN
        self._rate = rate
        self._burst = burst
        self._own = Buckets(rate, burst)
        self._guard = threading.Lock()
        self._descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        self._salt = os.pread(self._descriptor, _SALT_BYTES, 0)

    def take(self, key: str, now: float) -> float:
        digest = hashlib.blake2b(key.encode(), key=self._salt, digest_size=16).digest()
        try:
            with self._locked():
                return self._take(digest, now)
        except OSError:
            return self._own.take(key, now)

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        """Raises TimeoutError."""
        ends = time.monotonic() + _PATIENCE
        if not self._guard.acquire(timeout=_PATIENCE):
            raise TimeoutError
        try:
            while not self._tried():
                if time.monotonic() > ends:
                    raise TimeoutError
                time.sleep(0.0005)
            try:
                yield
            finally:
                self._lock(self._descriptor, self._release)
        finally:
            self._guard.release()

    def _tried(self) -> bool:
        try:
            self._lock(self._descriptor, self._alone)
        except BlockingIOError:
            return False
        return True

    def _take(self, digest: bytes, now: float) -> float:
        place = _SALT_BYTES + int.from_bytes(digest[:4]) % _GROUPS * _GROUP_BYTES
        group = os.pread(self._descriptor, _GROUP_BYTES, place)
        if len(group) != _GROUP_BYTES:
            raise OSError("the file of the rate limits is truncated")
        way, level, at = self._found(group, digest, now)
        level, wait = take_token(level, now - at, self._rate, self._burst)
        os.pwrite(self._descriptor, _BUCKET.pack(digest, level, max(now, at)), place + way * _BUCKET.size)
        return wait

    def _found(self, group: bytes, digest: bytes, now: float) -> tuple[int, float, float]:
        """Return the place of a key in its group, the level of the bucket, and the time of that level."""
        fullest, most = 0, -1.0
        for way, (known, level, at) in enumerate(_BUCKET.iter_unpack(group)):
            if known == digest and math.isfinite(level) and at <= now + _AHEAD:
                return way, level, at
            # A free place, or the key's own invalid bucket, is best.
            room = math.inf if known in (_NONE, digest) else level + (now - at) * self._rate
            if room > most:
                fullest, most = way, room
        return fullest, self._burst, now

    def close(self) -> None:
        os.close(self._descriptor)
