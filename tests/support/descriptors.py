"""Limits the number of files that this process may still open."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

import pytest

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

needs_limits = pytest.mark.skipif(resource is None, reason="Windows has no such limit")
_MORE = 64


@contextlib.contextmanager
def descriptors_left(count: int) -> Iterator[None]:
    """Let this process open no more than `count` files."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    held = [os.open(os.devnull, os.O_RDONLY)]
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (held[0] + _MORE, before[1]))
        with contextlib.suppress(OSError):
            while True:
                held.append(os.open(os.devnull, os.O_RDONLY))
        for descriptor in held[len(held) - count :]:
            os.close(descriptor)
        del held[len(held) - count :]
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
        for descriptor in held:
            os.close(descriptor)
