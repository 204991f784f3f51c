"""The official client of the Model Context Protocol against the real server process, from tests without a loop."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp_types import Implementation

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_core.processes.own_interpreter import make_own_command
from support.patience import patience


@dataclass(frozen=True, slots=True)
class McpClient:
    """A connected client. `call` returns the text of an answer and whether it is an error."""

    portal: BlockingPortal
    session: ClientSession

    def call(self, tool: str, **arguments: Any) -> tuple[str, bool]:
        async def ask() -> tuple[str, bool]:
            answer = await self.session.call_tool(tool, arguments, read_timeout_seconds=patience())
            assert len(answer.content) == 1
            return str(getattr(answer.content[0], "text", "")), bool(answer.is_error)

        return self.portal.call(ask)

    def told(self, tool: str, **arguments: Any) -> str:
        text, is_error = self.call(tool, **arguments)
        assert not is_error, text
        return text

    def refused(self, tool: str, **arguments: Any) -> str:
        text, is_error = self.call(tool, **arguments)
        assert is_error, text
        return text

    def tools(self) -> dict[str, JsonObject]:
        """Return the schemas of the arguments by the names of the tools."""
        found = self.portal.call(self.session.list_tools)
        return {tool.name: tool.input_schema for tool in found.tools}


@contextmanager
def connected_client(agent: str, *, name: str = "test-client") -> Iterator[McpClient]:
    """Start `lifeboat mcp` for an agent in a process and connect to it; end it afterwards."""
    command = make_own_command("mcp", "--agent", agent)
    wanted = {key: value for key, value in os.environ.items() if key.startswith(("LIFEBOAT_", "PYTHON"))}
    server = StdioServerParameters(
        command=command[0], args=list(command[1:]), env={**wanted, "HOME": os.environ["HOME"]}, cwd=Path.cwd()
    )
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(_open(server, name)) as session:
        yield McpClient(portal, session)


@asynccontextmanager
async def _open(server: StdioServerParameters, name: str) -> AsyncIterator[ClientSession]:
    """Open a session over a server process. The stream for errors that the client takes by default is the one of the
    time of import, which pytest has closed."""
    with TemporaryFile("w+") as errors:
        async with (
            stdio_client(server, errlog=errors) as streams,
            ClientSession(*streams, client_info=Implementation(name=name, version="1")) as session,
        ):
            await session.initialize()
            yield session
