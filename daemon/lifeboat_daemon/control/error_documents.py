"""Convert errors to documents and back, so that an error keeps its class across processes."""

from __future__ import annotations

from collections.abc import Iterator

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.errors import LifeboatError
from lifeboat_core.errors import ServiceError


def describe_error(error: LifeboatError) -> JsonObject:
    """Return an error as `--json` writes it (code, title, message, fix, retryable), with its exit_status."""
    return {
        "code": error.code,
        "title": error.title,
        "message": error.message,
        "fix": error.fix,
        "retryable": error.retryable,
        "exit_status": error.exit_status,
    }


def rebuild_error(found: object) -> LifeboatError:
    """Rebuild the error of a document: the class with its code if that is loaded, otherwise a ServiceError with its
    code. It has the document's title, message and fix. Missing or invalid fields have the defaults of ServiceError."""
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
    except TypeError:  # Its constructor needs more arguments than the document provides.
        return ServiceError(message)


def _class_of(code: str) -> type[LifeboatError]:
    """Return the class with a code; among several, the one that the others derive from."""
    return next((cls for cls in _loaded(LifeboatError) if cls.code == code), ServiceError)


def _loaded(cls: type[LifeboatError]) -> Iterator[type[LifeboatError]]:
    yield cls
    for child in cls.__subclasses__():
        yield from _loaded(child)


def _text(fields: JsonObject, name: str, otherwise: str) -> str:
    value = fields.get(name)
    return value if isinstance(value, str) and value else otherwise
