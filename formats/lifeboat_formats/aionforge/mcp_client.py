"""Calls tools of an instance over the Model Context Protocol. A call answers, fails, or times out.

The official package speaks the protocol, on a separate thread. Three things are added here. The package reports every
HTTP status as the same error, so the status is recorded when the response arrives: a body that is too large (413) can
be sent in halves, other errors cannot. It closes the connection when an answer breaks off, so that case is told apart
from an error, and a connection can be reopened. And it logs what it cannot parse, so its log is silenced: it would
contain memories.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

from lifeboat_alf.common.json_shapes import as_object
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_formats.aionforge.instance_address import InstanceAddress
from lifeboat_formats.interchange.errors import ExtraMissing, InstanceFailed
from lifeboat_keys.installers import extra_command

if TYPE_CHECKING:
    from anyio.from_thread import BlockingPortal
    from mcp import ClientSession

STATUS_FIX = "aionforge doctor"

_LARGEST_ANSWER = 256 << 20
"""Largest answer in bytes. A larger one would fill the memory."""
_GRACE = 10.0
"""Seconds for the thread to notice a timeout."""
_CODE = re.compile(r"\s*(ERR_[A-Z0-9_]{1,60})")
_TOO_LARGE, _REFUSED = 413, (401, 403)
_LOGGERS = ("mcp", "httpx2", "client")


class ToolFailed(InstanceFailed):
    """A tool answered with an error. `error_code` is the instance's code. Its message may quote the request and is not
    repeated."""

    retryable = False

    def __init__(self, tool: str, error_code: str) -> None:
        super().__init__(f"the Aionforge tool {tool} failed: {error_code or 'unknown error'}", fix=_fix(error_code))
        self.error_code = error_code


class BodyTooLarge(InstanceFailed):
    """The request is larger than the instance accepts."""


class AnswerLost(InstanceFailed):
    """No answer, or only a part of one, arrived. Whether the instance carried out the request is unknown."""


@dataclass(frozen=True, slots=True)
class InstanceLimits:
    """Time limits of an instance, in seconds."""

    connect: float = 15.0
    call: float = 60.0


@dataclass(frozen=True, slots=True)
class ToolAnswer:
    """The answer of a tool as text, and as data if the release sends it."""

    text: str
    structured: JsonObject | None = None


@dataclass(slots=True)
class _LastStatus:
    """The HTTP status of the last response, 0 for none."""

    status: int = 0


@dataclass(slots=True)
class InstanceConnection:
    """An open connection. `tools` are the instance's tools with the names of their parameters. Every method raises
    InstanceFailed; opening also raises ExtraMissing."""

    address: InstanceAddress
    limits: InstanceLimits = InstanceLimits()
    tools: dict[str, frozenset[str]] = field(default_factory=dict)
    _stack: ExitStack = field(default_factory=ExitStack)
    _portal: BlockingPortal | None = None
    _session: ClientSession | None = None
    _seen: _LastStatus = field(default_factory=_LastStatus)

    def __enter__(self) -> Self:
        self._open()
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection and ignore errors: the instance may be gone or hang."""
        self._portal = self._session = None
        stack, self._stack = self._stack, ExitStack()
        with suppress(Exception):
            stack.close()

    def again(self) -> None:
        """Reopen the connection."""
        self.close()
        self._open()

    def call(self, tool: str, arguments: Mapping[str, Any]) -> ToolAnswer:
        """Call a tool. Raises ToolFailed, BodyTooLarge, AnswerLost."""
        if self._session is None:
            self._open()
        try:
            result = self._run(self._ask, tool, dict(arguments))
        except Exception as error:
            raise self._failure(tool, error) from None
        return _answer(tool, result)

    def _open(self) -> None:
        _import()
        from anyio.from_thread import start_blocking_portal

        self._seen.status = 0
        try:
            self._portal = self._stack.enter_context(start_blocking_portal())
            opened = _session(self.address, self.limits, self._seen)
            self._session, self.tools = self._stack.enter_context(self._portal.wrap_async_context_manager(opened))
        except Exception as error:
            self.close()
            raise self._not_reached(error) from None

    def _run(self, work: Any, *arguments: Any) -> Any:
        if self._portal is None:
            raise ConnectionError
        self._seen.status = 0
        future = self._portal.start_task_soon(work, *arguments)
        try:
            return future.result(self.limits.call + _GRACE)
        finally:
            future.cancel()

    async def _ask(self, tool: str, arguments: JsonObject) -> Any:
        import anyio
        import mcp_types

        session = self._session
        if session is None:
            raise ConnectionError
        parameters = mcp_types.CallToolRequestParams(name=tool, arguments=arguments)
        with anyio.fail_after(self.limits.call):
            # `call_tool` would validate the answer against the instance's schema and refuse what this module can read.
            return await session.send_request(
                mcp_types.CallToolRequest(params=parameters), mcp_types.CallToolResult, self.limits.call
            )

    def _failure(self, tool: str, error: Exception) -> InstanceFailed:
        import mcp_types
        from mcp.shared.exceptions import MCPError

        status = self._seen.status
        if status == _TOO_LARGE:
            return BodyTooLarge(f"Aionforge refused the request to {tool}, because the request is too large")
        if status in _REFUSED:
            return _refused(status)
        lost = (mcp_types.CONNECTION_CLOSED, mcp_types.REQUEST_TIMEOUT, mcp_types.PARSE_ERROR)
        if isinstance(error, MCPError) and error.error.code not in lost and not 500 <= status < 600:
            return ToolFailed(tool, f"error {error.error.code}")
        self.close()  # a late answer must not be taken for the answer to the next call
        if isinstance(error, TimeoutError):
            return AnswerLost(f"Aionforge did not answer {tool} within {self.limits.call:g} seconds", fix=STATUS_FIX)
        return AnswerLost(f"the answer of Aionforge to {tool} was incomplete", fix=STATUS_FIX)

    def _not_reached(self, error: Exception) -> InstanceFailed:
        if self._seen.status in _REFUSED:
            return _refused(self._seen.status)
        where = self.address.url or self.address.command[0]
        message = f"the program at {where} does not answer like an Aionforge server"
        if isinstance(error, TimeoutError):
            message = f"no Aionforge server answered at {where} within {self.limits.connect:g} seconds"
        stdio = "use stdio:COMMAND, for example with the command: aionforge serve stdio"
        return InstanceFailed(message, fix="aionforge serve http" if self.address.url else stdio)


def _refused(status: int) -> InstanceFailed:
    message = "Aionforge refused the host, the origin or the token of the request"
    if status == _REFUSED[0]:
        message = "Aionforge refused the token, or the request had no token"
    return InstanceFailed(message).with_again("--token-file", "FILE")


def _fix(error_code: str) -> str | None:
    if error_code == "ERR_PRINCIPAL_REQUIRED":
        return "use --agent-id UUID, or --token-file FILE"
    return (
        "use --agent-id with the UUID of the agent that the token belongs to"
        if error_code == "ERR_PRINCIPAL_MISMATCH"
        else None
    )


def _import() -> None:
    try:
        import mcp  # noqa: F401
    except ImportError:
        raise ExtraMissing(
            "the Python library that connects to Aionforge (mcp) is not installed", fix=extra_command("aionforge")
        ) from None
    for name in _LOGGERS:
        logger = logging.getLogger(name)
        logger.propagate = False
        if not logger.handlers:
            logger.addHandler(logging.NullHandler())


def _answer(tool: str, result: Any) -> ToolAnswer:
    text = "\n".join(part.text for part in result.content if getattr(part, "type", "") == "text")
    if result.is_error:
        found = _CODE.match(text)
        raise ToolFailed(tool, found[1] if found else "")
    structured = result.structured_content
    return ToolAnswer(text, structured if isinstance(structured, dict) else None)


@asynccontextmanager
async def _session(
    address: InstanceAddress, limits: InstanceLimits, seen: _LastStatus
) -> AsyncIterator[tuple[ClientSession, dict[str, frozenset[str]]]]:
    import anyio
    from mcp import ClientSession

    async with AsyncExitStack() as stack:
        streams = await stack.enter_async_context(_streams(address, limits, seen, stack))
        session = await stack.enter_async_context(ClientSession(*streams))
        with anyio.fail_after(limits.connect):
            await session.initialize()
            tools = await _tools(session)
        yield session, tools


async def _tools(session: ClientSession) -> dict[str, frozenset[str]]:
    listed = await session.list_tools()
    return {tool.name: frozenset(_properties(tool.input_schema)) for tool in listed.tools}


def _properties(schema: Any) -> list[str]:
    return [str(name) for name in as_object(as_object(schema).get("properties"))]


@asynccontextmanager
async def _streams(
    address: InstanceAddress, limits: InstanceLimits, seen: _LastStatus, stack: AsyncExitStack
) -> AsyncIterator[Any]:
    if address.command:
        from mcp.client.stdio import StdioServerParameters, stdio_client

        program, *arguments = address.command
        own = {name: value for name, value in os.environ.items() if name.startswith("AIONFORGE_")}
        nowhere = stack.enter_context(open(os.devnull, "w"))  # noqa: SIM115 - what it says to people may be content
        parameters = StdioServerParameters(command=program, args=arguments, env=own)
        async with stdio_client(parameters, errlog=nowhere) as streams:
            yield streams
        return
    import httpx2
    from mcp.client.streamable_http import streamable_http_client

    async def note(response: Any) -> None:
        if response.request.method == "POST":
            seen.status = response.status_code
        length = response.headers.get("content-length", "0")
        if length.isdigit() and int(length) > _LARGEST_ANSWER:
            raise httpx2.DecodingError("the answer of Aionforge is too large")

    headers = {"authorization": f"Bearer {address.token}"} if address.token else {}
    timeout = httpx2.Timeout(limits.call, connect=limits.connect)
    client = await stack.enter_async_context(httpx2.AsyncClient(headers=headers, timeout=timeout))
    client.event_hooks = {"response": [note]}
    reading = streamable_http_client(address.url, http_client=client, max_sse_event_size=_LARGEST_ANSWER)
    async with reading as streams:
        yield streams
