"""Errors as documents and back: what failed in one process is the same error in another."""

from __future__ import annotations

from collections.abc import Iterator

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.errors import LifeboatError
from lifeboat_core.errors import ServiceError


def describe_error(error: LifeboatError) -> JsonObject:
    """An error as `--json` gives it (code, title, message, fix, retryable), and its exit_status."""
    return {
        "code": error.code,
        "title": error.title,
        "message": error.message,
        "fix": error.fix,
        "retryable": error.retryable,
        "exit_status": error.exit_status,
    }


def rebuild_error(found: object) -> LifeboatError:
    """The error of a document: of the class with its code where that is loaded, else a ServiceError with its code.

    It has the document's own title, message and fix. What is missing or no text is a ServiceError's.
    """
    fields: JsonObject = found if isinstance(found, dict) else {}
    code = _text(fields, "code", ServiceError.code)
    error = _make(_class_of(code), _text(fields, "message", "it gave no reason"))
    error.code = code
    error.title = _text(fields, "title", error.title)
    error.fix = _text(fields, "fix", "") or None
    error.retryable = fields.get("retryable") is True
    error.exit_status = 3 if fields.get("exit_status", error.exit_status) == 3 else 1
    return error


def _make(cls: type[LifeboatError], message: str) -> LifeboatError:
    try:
        return cls(message)
    except TypeError:  # its constructor wants more than there is
        return ServiceError(message)


def _class_of(code: str) -> type[LifeboatError]:
    """The class with a code; of several the one that the others derive from."""
    return next((cls for cls in _loaded(LifeboatError) if cls.code == code), ServiceError)


def _loaded(cls: type[LifeboatError]) -> Iterator[type[LifeboatError]]:
    yield cls
    for child in cls.__subclasses__():
        yield from _loaded(child)


def _text(fields: JsonObject, name: str, otherwise: str) -> str:
    value = fields.get(name)
    return value if isinstance(value, str) and value else otherwise
