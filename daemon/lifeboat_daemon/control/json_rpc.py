"""The messages on the control socket (JSON-RPC 2.0, one message per line), as pure functions.

The first request is `hello`. Requests have an `id` and are answered in the order in which they complete. Clients that
called `subscribe` receive events as notifications with the method `event`.
"""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.errors import LifeboatError
from lifeboat_core.errors import BadRequest, ServiceError
from lifeboat_core.texts import readable_json
from lifeboat_daemon.control import error_documents

PROTOCOL = 1
"""Increases when an older client would misunderstand an answer. New methods and fields do not change it."""
LARGEST = 16 * 1024 * 1024
"""Bytes of one answer or event, without its line end."""
LARGEST_REQUEST = 1024 * 1024
"""Bytes of one request. Requests only name things; large data flows from the daemon to its clients."""

HELLO = "hello"
SUBSCRIBE = "subscribe"
EVENT = "event"
GOODBYE: JsonObject = {"event": "goodbye"}
"""The daemon ends. This is the last event of a connection."""
LOST: JsonObject = {"event": "lost"}
"""The client read too slowly, so events were left out. This is the last event of a connection: reconnect and ask for
the status."""

PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMETERS, INTERNAL = -32700, -32600, -32601, -32602, -32603
FAILED = -32000
"""The method ran and failed: `data` contains the error as `--json` writes it (code, title, message, fix, retryable)."""

Id = int | str | None
_SMALLEST_ID, _LARGEST_ID = -(2**63), 2**63 - 1


@dataclass(frozen=True, slots=True)
class RpcRequest:
    """One call. `id` is None for a notification, which gets no answer."""

    id: Id
    method: str
    parameters: JsonObject


class UnusableRequest(Exception):
    """The line is not a valid request. `answer` is the line to send back."""

    def __init__(self, number: int, message: str, request: Id = None) -> None:
        super().__init__(message)
        self.answer = encode_rpc_error(request, number, BadRequest(message))


def encode_request(number: int, method: str, parameters: JsonObject) -> bytes:
    """Return the line of a request. Raises UnicodeEncodeError for a name that is not valid UTF-8: with escapes it would
    be the name of another file."""
    return msgspec.json.encode({"jsonrpc": "2.0", "id": number, "method": method, "params": parameters}) + b"\n"


def decode_request(line: bytes | bytearray) -> RpcRequest:
    """Decode a line as a request. Raises UnusableRequest."""
    try:
        message = msgspec.json.decode(line)
    except (msgspec.DecodeError, ValueError, RecursionError):
        raise UnusableRequest(PARSE_ERROR, "a line of the request is not JSON") from None
    if isinstance(message, list):
        raise UnusableRequest(
            INVALID_REQUEST, "the daemon does not support several requests in one list; send one request per line"
        )
    if not isinstance(message, dict):
        raise UnusableRequest(INVALID_REQUEST, "a line of the request is not a JSON object")
    return _checked(message)


def _checked(message: JsonObject) -> RpcRequest:
    number = message.get("id")
    if not _is_id(number) or (number is None and "id" in message):
        raise UnusableRequest(INVALID_REQUEST, "the id of a request must be a string or a 64-bit integer")
    method = message.get("method")
    if message.get("jsonrpc") != "2.0" or not isinstance(method, str):
        raise UnusableRequest(INVALID_REQUEST, 'a request needs "jsonrpc": "2.0" and a "method"', number)
    parameters = message.get("params", {})
    if not isinstance(parameters, dict):
        raise UnusableRequest(INVALID_PARAMETERS, '"params" must be an object with named parameters', number)
    return RpcRequest(number, method, parameters)


def _is_id(value: object) -> bool:
    if isinstance(value, int) and not isinstance(value, bool):
        return _SMALLEST_ID <= value <= _LARGEST_ID
    return value is None or isinstance(value, str)


def encode_answer(number: Id, result: object) -> bytes:
    """Return the line of an answer. Raises ServiceError when it exceeds the maximum, TypeError for a value that JSON
    cannot represent."""
    return _not_too_large(_line({"jsonrpc": "2.0", "id": number, "result": result}))


def encode_failure(number: Id, error: LifeboatError) -> bytes:
    """Return the line that reports the failure of a method."""
    return encode_rpc_error(number, INVALID_PARAMETERS if isinstance(error, BadRequest) else FAILED, error)


def encode_rpc_error(number: Id, code: int, error: LifeboatError) -> bytes:
    """Return the line of an error with its JSON-RPC number."""
    problem = {"code": code, "message": error.title, "data": error_documents.describe_error(error)}
    return _line({"jsonrpc": "2.0", "id": number, "error": problem})


def encode_event(told: JsonObject) -> bytes:
    """Return the line of an event. Raises what `encode_answer` raises."""
    return _not_too_large(_line({"jsonrpc": "2.0", "method": EVENT, "params": told}))


def _not_too_large(line: bytes) -> bytes:
    if len(line) > LARGEST + 1:
        raise ServiceError(f"a message has {len(line)} bytes; the limit is {LARGEST}")
    return line


def _line(message: JsonObject) -> bytes:
    return readable_json.encode_json(message) + b"\n"
