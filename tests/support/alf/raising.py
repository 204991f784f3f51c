"""Errors that a test expects by their code."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from lifeboat_alf.errors import ErrorCode, LifeboatError


@contextmanager
def raises_code(
    wanted: ErrorCode | type[LifeboatError], match: str | None = None
) -> Iterator[pytest.ExceptionInfo[LifeboatError]]:
    """Expect an error of a class, or one with a code of a class."""
    kind = wanted.owner if isinstance(wanted, ErrorCode) else wanted
    with pytest.raises(kind, match=match) as failed:
        yield failed
    if isinstance(wanted, ErrorCode):
        assert failed.value.code == wanted.code
