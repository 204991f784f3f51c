"""Convert errors to documents and back, so that an error keeps its class across processes."""

from __future__ import annotations

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.errors import ErrorCode, LifeboatError, list_codes
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
    error = _make(_kind_of(code), _text(fields, "message", "the daemon gave no reason"))
    error.code = code
    error.title = _text(fields, "title", error.title)
    error.fix = _text(fields, "fix", "") or None
    error.retryable = fields.get("retryable") is True
    error.exit_status = 3 if fields.get("exit_status", error.exit_status) == 3 else 1
    return error


def _make(kind: type[LifeboatError] | ErrorCode, message: str) -> LifeboatError:
    try:
        return kind(message)
    except TypeError:  # its constructor wants more than there is
        return ServiceError(message)


def _kind_of(code: str) -> type[LifeboatError] | ErrorCode:
    """Return what makes errors with a code; of several classes the one that the others derive from."""
    return next((kind for kind in list_codes() if kind.code == code), ServiceError)


def _text(fields: JsonObject, name: str, otherwise: str) -> str:
    value = fields.get(name)
    return value if isinstance(value, str) and value else otherwise
