"""How many connections a server accepts, and which one makes room for another."""

from __future__ import annotations

from pathlib import Path

import pytest

from lifeboat_endpoint.server import serving
from lifeboat_endpoint.server.connections import ConnectionBounds, OpenConnection, OpenConnections, parse_proxies
from lifeboat_endpoint.server.descriptor_limit import descriptors_for_connections
from lifeboat_endpoint.server.serving import ServeOptions
from lifeboat_vault.errors import CannotServe


class Accepted:
    """Connections of a process with small bounds, by name."""

    def __init__(self, total: int = 4, per_address: int = 2, proxies: tuple[str, ...] = ()) -> None:
        self.all = OpenConnections(ConnectionBounds(total, per_address, parse_proxies(proxies)))
        self.closed: list[str] = []

    def admit(self, name: str, address: str) -> OpenConnection | None:
        return self.all.admit(address, lambda: self.closed.append(name))

    def proven(self, name: str, address: str) -> None:
        connection = self.admit(name, address)
        assert connection is not None
        connection.is_proven = True


def test_an_address_at_its_bound_gives_up_its_own_oldest_connection() -> None:
    accepted = Accepted()
    for name, address in (("other", "192.0.2.9"), ("a", "192.0.2.1"), ("b", "192.0.2.1"), ("c", "192.0.2.1")):
        assert accepted.admit(name, address) is not None
    assert (accepted.closed, len(accepted.all)) == (["a"], 3)


def test_at_the_bound_in_all_the_oldest_connection_without_a_token_makes_room() -> None:
    accepted = Accepted()
    accepted.proven("holder", "192.0.2.1")
    for number in range(2, 8):
        assert accepted.admit(str(number), f"192.0.2.{number}") is not None
    assert (accepted.closed, len(accepted.all)) == (["2", "3", "4"], 4)


def test_a_new_connection_is_refused_where_all_others_hold_a_token() -> None:
    accepted = Accepted(total=2)
    accepted.proven("a", "192.0.2.1")
    accepted.proven("b", "192.0.2.2")
    assert accepted.admit("c", "192.0.2.3") is None
    assert (accepted.closed, accepted.all.refused, len(accepted.all)) == ([], 1, 2)


def test_a_token_holder_does_not_take_more_than_the_bound_of_an_address() -> None:
    accepted = Accepted(total=10)
    accepted.proven("a", "192.0.2.1")
    accepted.proven("b", "192.0.2.1")
    assert accepted.admit("c", "192.0.2.1") is None
    assert accepted.admit("d", "192.0.2.2") is not None


def test_a_named_proxy_has_no_bound_of_its_own_but_that_in_all() -> None:
    accepted = Accepted(total=6, proxies=("10.0.0.0/8", "2001:db8::7"))
    for number, address in enumerate(("10.1.2.3", "10.1.2.3", "10.1.2.3", "::ffff:10.1.2.3", "2001:db8::7")):
        assert accepted.admit(str(number), address) is not None
    assert accepted.closed == []
    for name in ("x", "y"):
        assert accepted.admit(name, "10.1.2.3") is not None
    assert accepted.closed == ["0"]


def test_addresses_of_one_ipv6_network_count_together() -> None:
    accepted = Accepted()
    for number in range(1, 4):
        accepted.admit(str(number), f"2001:db8::{number}")
    assert accepted.closed == ["1"]


def test_a_connection_that_ended_is_no_longer_counted() -> None:
    accepted = Accepted(total=1)
    connection = accepted.admit("a", "192.0.2.1")
    assert connection is not None
    for _ in range(2):
        accepted.all.remove(connection)
    assert accepted.admit("b", "192.0.2.1") is not None
    assert (accepted.closed, len(accepted.all)) == ([], 1)


def test_without_descriptors_the_oldest_without_a_token_are_closed() -> None:
    accepted = Accepted(total=5, per_address=5)
    accepted.proven("holder", "192.0.2.1")
    for name in ("a", "b", "c"):
        accepted.admit(name, "192.0.2.1")
    assert (accepted.all.shed(2), accepted.all.shed(2), accepted.closed) == (2, 1, ["a", "b", "c"])


def test_a_client_that_takes_no_last_bytes_is_cut_off() -> None:
    accepted = Accepted()
    connection = accepted.admit("a", "192.0.2.1")
    assert connection is not None
    for closing, now in ((False, 0.0), (True, 10.0), (True, 12.0)):
        connection.is_closing = lambda closing=closing: closing  # type: ignore[misc]
        accepted.all.close_stuck(now)
    assert accepted.closed == []
    accepted.all.close_stuck(15.0)
    assert accepted.closed == ["a"]


@pytest.mark.parametrize("text", ["proxy.example.com", "10.0.0.0/99", "", "10.0.0.1/8"])
def test_a_proxy_is_named_by_its_address(text: str) -> None:
    with pytest.raises(CannotServe, match="neither an IP address nor a network"):
        parse_proxies((text,))


def test_descriptors_are_left_for_files() -> None:
    assert [descriptors_for_connections(limit) for limit in (256, 1024, 8192, 65_536)] == [128, 512, 7680, 65_024]


@pytest.mark.parametrize(
    ("processes", "total", "per_address"), [(1, 1000, 100), (4, 250, 25), (25, 40, 4), (64, 15, 4), (1000, 1, 4)]
)
def test_each_process_takes_its_share_of_both_bounds(processes: int, total: int, per_address: int) -> None:
    share = serving._bounds(ServeOptions(Path("data"), workers=processes))
    assert (share.total, share.per_address) == (total, per_address)


def test_a_bound_of_an_address_that_was_set_low_stays_low_in_each_process() -> None:
    bounds = ConnectionBounds(total=8, per_address=2)
    assert serving._bounds(ServeOptions(Path("data"), workers=4, bounds=bounds)).per_address == 2
