"""Sending of responses."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
from starlette.types import Send

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_endpoint.server.api import RouteResponse
from lifeboat_endpoint.server.lanes import Lane
from lifeboat_endpoint.server.problems import MEDIA_TYPE, ProblemDocument
from lifeboat_endpoint.server.server_log import RequestRecord
from lifeboat_endpoint.server.server_settings import ServerPace

USUAL = ServerPace()
_PIECE = 1 << 18
_ALWAYS = {
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
    "server": "lifeboat",
}


def size_of(answer: RouteResponse) -> int:
    """Return the bytes that a response keeps in memory while it is sent; JSON is small."""
    if answer.file is not None:
        return answer.size
    return len(answer.content) if isinstance(answer.content, bytes) else 0


def close_response(answer: RouteResponse) -> None:
    """Close a response that is not sent."""
    if answer.file is not None:
        answer.file.close()


async def send_answer(
    answer: RouteResponse, lane: Lane, is_head: bool, send: Send, record: RequestRecord, pace: ServerPace = USUAL
) -> None:
    """Send a response: JSON, bytes, nothing, or a file, which is read in the lane and closed.

    Raises SlowReader if the client does not read it in time.
    """
    send = _in_time(send, pace.pause_seconds)
    if answer.file is not None:
        await _send_file(answer, lane, is_head, send, record)
        return
    body, media_type = _body(answer)
    await _begin(send, answer.status, answer.headers, media_type, len(body), record)
    for start in range(0, 0 if is_head else len(body), _PIECE):
        piece = body[start : start + _PIECE]
        record.sent += len(piece)
        await send({"type": "http.response.body", "body": piece, "more_body": start + _PIECE < len(body)})
    if is_head or not body:
        await _end(send, b"", record)


async def send_problem(problem: ProblemDocument, is_head: bool, send: Send, record: RequestRecord) -> None:
    record.status = problem.status
    body = msgspec.json.encode(problem.document)
    await _begin(send, problem.status, problem.headers, MEDIA_TYPE, len(body), record)
    await _end(send, b"" if is_head else body, record)


class SlowReader(Exception):
    """The client does not read the response."""


def _in_time(send: Send, seconds: float) -> Send:
    async def sending(message: Any) -> None:
        try:
            async with asyncio.timeout(seconds):
                await send(message)
        except TimeoutError:
            raise SlowReader from None

    return sending


def _body(answer: RouteResponse) -> tuple[bytes, str]:
    if answer.content is None:
        return b"", answer.media_type
    if isinstance(answer.content, bytes):
        return answer.content, answer.media_type or "application/octet-stream"
    return msgspec.json.encode(answer.content), answer.media_type or "application/json"


async def _send_file(answer: RouteResponse, lane: Lane, is_head: bool, send: Send, record: RequestRecord) -> None:
    file = answer.file
    assert file is not None
    try:
        media_type = answer.media_type or "application/octet-stream"
        await _begin(send, answer.status, answer.headers, media_type, answer.size, record)
        while not is_head and (piece := await lane.run(lambda: file.read(_PIECE))):
            record.sent += len(piece)
            await send({"type": "http.response.body", "body": piece, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})
    finally:
        await lane.run(file.close)


async def _begin(
    send: Send, status: int, headers: dict[str, str], media_type: str, size: int, record: RequestRecord
) -> None:
    found = headers_of(record)
    if media_type:
        found["content-type"] = media_type
    if status != 204:
        found["content-length"] = str(size)
    found.update({name.lower(): value for name, value in headers.items()})
    await send({"type": "http.response.start", "status": status, "headers": _encoded(found)})


def headers_of(record: RequestRecord) -> dict[str, str]:
    """Return the headers of every response."""
    return {**_ALWAYS, "x-request-id": record.id}


def _encoded(headers: dict[str, str]) -> list[tuple[bytes, bytes]]:
    return [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]


async def _end(send: Send, body: bytes, record: RequestRecord) -> None:
    record.sent += len(body)
    message: JsonObject = {"type": "http.response.body", "body": body, "more_body": False}
    await send(message)
