"""Addresses on which an endpoint listens, and its names."""

from __future__ import annotations

import socket
from typing import NamedTuple

import pytest

from lifeboat_endpoint.server import server_names
from lifeboat_vault.errors import CannotServe


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("127.0.0.1:8443", ("127.0.0.1", 8443)),
        ("[::1]:0", ("::1", 0)),
        ("endpoint.example.com:443", ("endpoint.example.com", 443)),
    ],
)
def test_where_to_listen_is_host_and_port(text: str, found: tuple[str, int]) -> None:
    assert server_names.parse_listen(text) == found


@pytest.mark.parametrize("text", ["", "8443", ":8443", "127.0.0.1", "127.0.0.1:", "127.0.0.1:99999", "127.0.0.1:x"])
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(CannotServe):
        server_names.parse_listen(text)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.9.9.9", "::1", "localhost", "::ffff:127.0.0.1"])
def test_this_machine_is_known(host: str) -> None:
    assert server_names.is_loopback(host)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.7", "example.com", "", "testclient"])
def test_others_are_not_this_machine(host: str) -> None:
    assert not server_names.is_loopback(host)


def test_a_certificate_is_for_this_machine_the_public_url_and_what_was_named() -> None:
    found = server_names.certificate_names(
        "192.0.2.7", "https://lifeboat.example.com:8443", ["Box.example.com", "2001:DB8::1"]
    )
    assert found >= {
        "localhost",
        "127.0.0.1",
        "::1",
        "192.0.2.7",
        "lifeboat.example.com",
        "box.example.com",
        "2001:db8::1",
    }


def test_what_is_no_name_is_refused() -> None:
    with pytest.raises(CannotServe):
        server_names.certificate_names("127.0.0.1", "https://127.0.0.1", ["no name"])


@pytest.mark.parametrize(
    ("text", "plain", "good"),
    [
        ("https://lifeboat.example.com/", False, True),
        ("https://lifeboat.example.com:8443/keep", False, True),
        ("http://127.0.0.1:8080", True, True),
        ("http://lifeboat.example.com", False, False),
        ("https://lifeboat.example.com/?x=1", False, False),
        ("https://user@lifeboat.example.com", False, False),
        ("https://lifeboat.example.com:port", False, False),
        ("lifeboat.example.com", False, False),
    ],
)
def test_a_public_url_is_one_that_clients_can_use(text: str, plain: bool, good: bool) -> None:
    if good:
        assert server_names.check_url(text, plain=plain) == text.rstrip("/")
    else:
        with pytest.raises(CannotServe):
            server_names.check_url(text, plain=plain)


def test_standard_ports_are_not_written() -> None:
    assert server_names.make_url("https", "2001:db8::1", 443) == "https://[2001:db8::1]"
    assert server_names.make_url("https", "192.0.2.7", 8443) == "https://192.0.2.7:8443"


@pytest.mark.parametrize("host", ["0.0.0.0", "::"])
def test_a_server_that_listens_everywhere_has_a_certificate_for_every_address_of_its_machine(
    host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    cards = {"eth0": ["192.0.2.9", "fe80::1%eth0", "2001:db8::9"], "lo": ["127.0.0.1"]}
    families = {name: [_Address(text) for text in texts] for name, texts in cards.items()}
    monkeypatch.setattr(server_names.psutil, "net_if_addrs", lambda: families)
    assert server_names.list_addresses() == ["192.0.2.9", "2001:db8::9"]
    assert server_names.certificate_names(host, "", []) >= {"192.0.2.9", "2001:db8::9", "localhost"}
    assert host not in server_names.certificate_names(host, "", [])


class _Address(NamedTuple):
    """An address of a network card, as psutil returns it."""

    address: str

    @property
    def family(self) -> socket.AddressFamily:
        return socket.AF_INET6 if ":" in self.address else socket.AF_INET


def test_a_server_that_listens_everywhere_is_told_by_an_address_that_others_can_reach(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert server_names.guess_host("192.0.2.7") == "192.0.2.7"
    assert server_names.guess_host("0.0.0.0") not in ("0.0.0.0", "::", "")
    monkeypatch.setattr(server_names, "_outward", lambda: None)
    monkeypatch.setattr(server_names, "list_addresses", lambda: [])
    monkeypatch.setattr(server_names.socket, "gethostname", lambda: "Box")
    assert server_names.guess_host("::") == "box"
