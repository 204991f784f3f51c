"""Join lines for new tokens. The server's address is stored with the endpoint, so it is known after the server has
stopped."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lifeboat_cli.endpoint.endpoint_session import EndpointSession

if TYPE_CHECKING:
    from lifeboat_endpoint.endpoint import Endpoint

_ADDRESS = "address"


def save_server_address(endpoint: Endpoint, url: str, pin: str) -> None:
    """Store the address at which the server answers."""
    endpoint.control.set(_ADDRESS, {"url": url, "pin": pin})


def make_join_line(endpoint: Endpoint, secret: str) -> str | None:
    """Return the line for a token, or None if no server ever ran for the endpoint."""
    from lifeboat_vault.remote.join_lines import JoinLine, format_join_line

    address = endpoint.control.get(_ADDRESS)
    return None if not isinstance(address, dict) else format_join_line(JoinLine(address["url"], secret, address["pin"]))


def print_join_line(session: EndpointSession, joined: str | None, *, until_used: bool = False) -> None:
    """Print the command for the machine that joins, and apart from it the join line that the command asks for: a
    token on a command line would stay in the history of the shell."""
    if joined is None:
        return
    how_often = "it is printed at every start until a machine uses it" if until_used else "it is not printed again"
    session.output.line("On the machine with your agents, run this command and paste the join line when it asks:")
    session.output.verbatim("  lifeboat remote add endpoint")
    session.output.line(f"The join line contains an access token. Keep it secret; {how_often}:")
    session.output.verbatim(f"  {joined}")
