"""The protocol of a client without its transport: bytes in, bytes out. Both clients use it."""

from __future__ import annotations

from collections import deque

import msgspec

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.errors import LifeboatError
from lifeboat_core.errors import BadRequest, NotAllowed, OtherRelease, ServiceError
from lifeboat_daemon.control import control_methods, error_documents, json_rpc
from lifeboat_daemon.control.control_methods import HelloAnswer
from lifeboat_daemon.control.line_splitter import LineSplitter
from lifeboat_daemon.control.socket_address import Address, LoopbackAddress

_BAD_REQUEST = frozenset({json_rpc.INVALID_REQUEST, json_rpc.METHOD_NOT_FOUND, json_rpc.INVALID_PARAMETERS})


class ClientConversation:
    """Numbers requests and sorts incoming messages into `outcomes` (by request) and `events`. `refusal` is the error
    that the daemon sent before it closed the connection, or None."""

    def __init__(self) -> None:
        self._lines = LineSplitter(json_rpc.LARGEST)
        self._number = 0
        self.outcomes: dict[int, JsonObject | LifeboatError] = {}
        self.events: deque[JsonObject] = deque()
        self.refusal: LifeboatError | None = None

    def request(self, method: str, parameters: JsonObject) -> tuple[int, bytes]:
        """Return the number and the line of a request. Raises BadRequest for one that is too large or not JSON."""
        self._number += 1
        try:
            line = json_rpc.encode_request(self._number, method, parameters)
        except (TypeError, ValueError) as error:
            raise BadRequest(f"{method}: {error}") from error
        if len(line) > json_rpc.LARGEST_REQUEST + 1:
            raise BadRequest(f"{method}: the request has {len(line)} bytes; the limit is {json_rpc.LARGEST_REQUEST}")
        return self._number, line

    def take(self, data: bytes) -> None:
        """Process received bytes. Raises ServiceError for a message that no daemon sends."""
        for line in self._lines.feed(data):
            self._sort(line)
        if self._lines.broken:
            raise ServiceError(
                f"a line of the daemon's answer has more than {json_rpc.LARGEST} bytes", fix="lifeboat daemon restart"
            )

    def _sort(self, line: bytes) -> None:
        try:
            message = msgspec.json.decode(line)
        except (msgspec.DecodeError, ValueError, RecursionError):
            raise _nonsense() from None
        if not isinstance(message, dict):
            raise _nonsense()
        number, told = message.get("id"), message.get("params")
        if message.get("method") == json_rpc.EVENT and isinstance(told, dict):
            self.events.append(told)
        elif isinstance(message.get("error"), dict):
            self._failed(number, message["error"])
        elif isinstance(number, int):
            result = message.get("result")
            self.outcomes[number] = result if isinstance(result, dict) else _nonsense()

    def _failed(self, number: object, problem: JsonObject) -> None:
        error = _error(problem)
        if isinstance(number, int):
            self.outcomes[number] = error
        elif number is None:
            self.refusal = error


def _nonsense() -> ServiceError:
    return ServiceError("the process that answers is not the daemon of Lifeboat", fix="lifeboat daemon restart")


def _error(problem: JsonObject) -> LifeboatError:
    """Return the error of an answer. If the answer lacks details, the error still has the right class."""
    data = problem.get("data")
    if isinstance(data, dict):
        return error_documents.rebuild_error(data)
    text = str(problem.get("message", "the daemon gave no reason"))
    return BadRequest(text) if problem.get("code") in _BAD_REQUEST else ServiceError(text)


def make_hello_parameters(address: Address, app: str) -> JsonObject:
    """Return the parameters of the first request."""
    said: JsonObject = {"protocol": json_rpc.PROTOCOL, "app": app}
    return said | {"token": address.token} if isinstance(address, LoopbackAddress) else said


def read_hello(address: Address, found: JsonObject) -> HelloAnswer:
    """Decode the daemon's answer to hello. Raises NotAllowed for an impostor, OtherRelease for another protocol
    version."""
    if isinstance(address, LoopbackAddress) and not address.is_reply(found.get("reply")):
        raise NotAllowed(
            f"the process that answers on {address} is not the daemon of Lifeboat", fix="lifeboat daemon restart"
        )
    hello = control_methods.HELLO.result(found)
    if hello.protocol != json_rpc.PROTOCOL:
        raise OtherRelease(
            f"the daemon is of release {hello.release} and uses protocol {hello.protocol}; this "
            f"program uses protocol {json_rpc.PROTOCOL}"
        )
    return hello
