"""The server: its processes, port, TLS, start and end."""

from __future__ import annotations

import importlib
import json
import os
import signal
import socket
import ssl
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import httpx
import psutil
import pytest
import trustme

from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.seams.crash_points import CrashPoint
from lifeboat_alf.seams.file_operations import SystemFiles
from lifeboat_alf.seams.system_clock import SystemClock
from lifeboat_cli.endpoint import endpoint_serve
from lifeboat_cli.endpoint.endpoint_session import EndpointSession
from lifeboat_cli.terminal.output import CommandOutput
from lifeboat_endpoint.endpoint import Endpoint
from lifeboat_endpoint.server.serving import ServedEndpoint, ServeOptions, _CertificateWatcher
from lifeboat_endpoint.server.tls import CertificateAuthority
from lifeboat_keys.installers import extra_command
from lifeboat_keys.pairs.device_key import DeviceKey
from lifeboat_keys.pairs.user_key import UserKey
from lifeboat_vault.errors import ServerMissing
from lifeboat_vault.remote.checks.remote_trial import TrialMachine
from lifeboat_vault.remote.join_lines import parse_join_line
from lifeboat_vault.vault import Vault
from support.cli.cli_client import run
from support.endpoint.endpoint_servers import RunningEndpoint, running_endpoint, until_ended
from support.patience import patience
from support.waiting import until

UNKNOWN = "0198aaaa-aaaa-7aaa-8aaa-aaaaaaaaaaaa"


@pytest.fixture(scope="module")
def endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningEndpoint]:
    with running_endpoint(tmp_path_factory.mktemp("endpoint"), workers=2) as running:
        yield running


@pytest.fixture
def keys_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


def refused(status: int, data: Path, *options: str) -> JsonObject:
    """Return the error of a start that must fail with a status."""
    error: JsonObject = run("endpoint", "serve", "--data", data, *options, expect=status)["error"]
    return error


def test_one_command_makes_an_endpoint_and_the_line_to_join_with(tmp_path: Path) -> None:
    with running_endpoint(tmp_path) as running:
        join = parse_join_line(running.join)
        with running.client() as client:
            assert client.get("/token").json()["tenant"] == "home"
        running.stop()
        told = running.start()
    assert (join.url, join.token, join.pin) == (running.url, running.token, running.pin)
    assert (told["url"], told["pin"], told["token"]) == (running.url, running.pin, None)


def test_the_first_join_line_is_printed_again_until_it_is_used(tmp_path: Path) -> None:
    with running_endpoint(tmp_path) as running:
        for _ in range(2):
            running.stop()
            told = running.start()
            assert (told["token"], told["tenant"], told["made_endpoint"]) == (running.token, "home", False)
            assert told["join"] == running.join
        with Endpoint.open(running.data) as found:
            assert [one.name for one in found.control.tokens()] == ["first"]
            assert running.token not in json.dumps(found.control.get("first_token"))
        with running.client() as client:
            assert client.get("/token").status_code == 200
        running.stop()
        with Endpoint.open(running.data) as found:
            assert found.control.get("first_token") is None, "the server destroys it, not the next start"
        assert running.start()["join"] is None


def test_a_first_token_that_was_revoked_is_not_printed_again(tmp_path: Path) -> None:
    with running_endpoint(tmp_path) as running:
        running.stop()
        with Endpoint.open(running.data) as found:
            found.control.revoke_token(found.control.tokens()[0].id)
        assert running.start()["join"] is None


@pytest.mark.usefixtures("keys_elsewhere")
def test_another_machine_joins_with_a_token_of_its_own(tmp_path: Path) -> None:
    session = EndpointSession(CommandOutput(as_json=True), tmp_path / "data")
    first, unused, again = (endpoint_serve._token(session, join) for join in (None, None, "home"))
    assert first is not None and again is not None
    assert unused is not None and (unused.secret, unused.is_repeated) == (first.secret, True)
    assert (first.tenant, again.tenant, again.is_repeated) == ("home", "home", False)
    assert (first.made_endpoint, again.made_endpoint) == (True, False)
    assert first.secret != again.secret


def test_a_server_that_runs_names_a_command_that_works_beside_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`serve --join` would find the port in use, and leave a token behind."""
    session = EndpointSession(CommandOutput(as_json=False), tmp_path)
    endpoint_serve._print(session, ServedEndpoint("https://boat.example.com", "", "0.0.0.0", 8443), None, None)
    assert (
        f"To create a token for another machine: lifeboat endpoint token add TENANT --data {tmp_path}"
        in capsys.readouterr().out
    )


def test_the_join_line_is_printed_apart_from_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Pasted as one command, the token would stay in the history of the shell."""
    session = EndpointSession(CommandOutput(as_json=False), tmp_path)
    served, line = ServedEndpoint("https://boat.example.com", "", "0.0.0.0", 8443), "lifeboat+https://secret@boat/"
    for is_repeated, promise in ((True, "it is printed at every start"), (False, "it is not printed again")):
        endpoint_serve._print(session, served, endpoint_serve._JoinToken("home", "secret", True, is_repeated), line)
        printed = capsys.readouterr().out
        assert printed.endswith(f"  {line}\n") and "  lifeboat remote add endpoint\n" in printed and promise in printed


@pytest.mark.usefixtures("keys_elsewhere")
def test_nobody_joins_a_tenant_that_there_is_not(tmp_path: Path) -> None:
    assert refused(1, tmp_path / "data", "--listen", "127.0.0.1:0", "--join", "office")["code"] == "unknown_tenant"
    assert not (tmp_path / "data").exists()


def test_several_processes_answer_as_one(endpoint: RunningEndpoint) -> None:
    def many() -> list[int]:
        found = []
        for _ in range(6):
            with endpoint.client() as client:
                found.append(client.get("/token").status_code)
        return found

    assert many() == [200] * 6
    with endpoint.client() as client:
        assert 'lifeboat_requests_total{method="GET",route="/token",status="200"} 6.0' in client.get("/metrics").text


def test_several_processes_have_one_limit(tmp_path: Path) -> None:
    with running_endpoint(tmp_path, plain=True, workers=3) as running:
        found, begun = [], time.monotonic()
        for _ in range(40):
            with running.client("lb_aaaaaaaa_" + "x" * 43) as client:
                found.append(client.get("/token").status_code)
        filled = 0.2 * (time.monotonic() - begun)
        assert found[:20] == [401] * 20 and set(found[20:]) <= {401, 429}
        assert found.count(401) <= 21 + filled
        with running.client() as client:
            assert client.get("/token").status_code == 200


def tls(endpoint: RunningEndpoint, version: ssl.TLSVersion) -> str | None:
    context = ssl.create_default_context(cafile=str(endpoint.ca))
    context.minimum_version = context.maximum_version = version
    url = httpx.URL(endpoint.url)
    with (
        socket.create_connection((url.host, url.port or 443), timeout=patience()) as connection,
        context.wrap_socket(connection, server_hostname=url.host) as secured,
    ):
        secured.sendall(b"GET /version HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        assert secured.recv(100).startswith(b"HTTP/1.1 200")
        return secured.version()


def test_a_service_manager_hears_that_it_is_ready_and_alive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(tmp_path / "notify"))
        manager.settimeout(patience())
        monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "notify"))
        with running_endpoint(tmp_path / "data", plain=True):
            told = {manager.recv(1000).decode().partition("\n")[0] for _ in range(2)}
    assert told == {"READY=1", "WATCHDOG=1"}


def test_a_certificate_that_changed_is_served_after_a_signal(tmp_path: Path) -> None:
    """New processes answer before the former ones end."""
    with running_endpoint(tmp_path) as running:
        assert running.process is not None
        first = psutil.Process(running.process.pid)
        (former,) = first.children()
        first.send_signal(signal.SIGHUP)
        until(lambda: not former.is_running() or former.status() == psutil.STATUS_ZOMBIE, "the end of the former")
        with running.client() as client:
            assert client.get("/token").status_code == 200
        assert running.stop() == 0


def test_tls_1_3_is_spoken(endpoint: RunningEndpoint) -> None:
    assert tls(endpoint, ssl.TLSVersion.TLSv1_3) == "TLSv1.3"


def test_tls_1_2_is_refused(endpoint: RunningEndpoint) -> None:
    with pytest.raises((ssl.SSLError, ConnectionError)):
        tls(endpoint, ssl.TLSVersion.TLSv1_2)


def test_plain_http_is_refused_where_tls_is_spoken(endpoint: RunningEndpoint) -> None:
    with pytest.raises(httpx.HTTPError):
        httpx.get(endpoint.url.replace("https://", "http://") + "/version", timeout=patience())


def test_plain_http_is_for_this_machine_only(tmp_path: Path) -> None:
    error = refused(3, tmp_path / "data", "--plain-http", "--listen", "0.0.0.0:0")
    assert error["code"] == "cannot_serve"
    assert not (tmp_path / "data").exists()


def test_who_does_not_know_the_authority_is_not_let_on(endpoint: RunningEndpoint) -> None:
    with pytest.raises(httpx.ConnectError, match="CERTIFICATE_VERIFY_FAILED"):
        httpx.get(f"{endpoint.url}/version", timeout=patience())


@pytest.mark.usefixtures("keys_elsewhere")
def test_a_port_that_is_taken_is_said(endpoint: RunningEndpoint, tmp_path: Path) -> None:
    listen = endpoint.url.removeprefix("https://")
    error = refused(1, tmp_path / "data", "--listen", listen)
    assert error["code"] == "port_taken"
    assert str(httpx.URL(endpoint.url).port) in str(error["message"])


def test_a_first_start_on_a_taken_port_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        error = refused(1, tmp_path / "data", "--listen", f"127.0.0.1:{port}")
    assert error["code"] == "port_taken" and f"127.0.0.1:{port}" in error["message"]
    assert os.listdir(tmp_path) == []
    with running_endpoint(tmp_path, options=["--listen", f"127.0.0.1:{port}"]) as running:
        assert running.token


def test_a_port_that_is_taken_is_answered_with_one_that_is_free(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        fix = refused(1, tmp_path / "data", "--listen", f"127.0.0.1:{port}")["fix"]
        words = fix.split()
        assert words[:3] == ["lifeboat", "endpoint", "serve"] and words[-2:] == ["--data", str(tmp_path / "data")]
        with running_endpoint(tmp_path, options=words[words.index("--listen") :][:2]) as running:
            assert running.url.endswith(words[words.index("--listen") + 1])


def test_a_used_endpoint_on_a_taken_port_keeps_what_it_has(tmp_path: Path) -> None:
    """A failed start also makes no token, which would stay behind unused."""
    with running_endpoint(tmp_path) as running:
        running.stop()
        with socket.create_server(("127.0.0.1", 0)) as taken:
            listen = f"127.0.0.1:{taken.getsockname()[1]}"
            assert refused(1, running.data, "--listen", listen, "--join", "home")["code"] == "port_taken"
        with Endpoint.open(running.data) as found:
            assert [one.name for one in found.control.tokens()] == ["first"]
        assert running.start()["join"] == running.join


def test_a_given_certificate_is_served(tmp_path: Path) -> None:
    authority = trustme.CA()
    leaf = authority.issue_cert("127.0.0.1")
    certificate, key = tmp_path / "given.pem", tmp_path / "given.key"
    leaf.private_key_and_cert_chain_pem.write_to_path(certificate)
    key.write_bytes(pkcs8(leaf.private_key_pem.bytes()))
    with running_endpoint(tmp_path, options=["--certificate", str(certificate), "--key", str(key)]) as running:
        context = ssl.create_default_context()
        authority.configure_trust(context)
        with httpx.Client(verify=context, timeout=patience()) as client:
            assert client.get(f"{running.url}/version").status_code == 200
            assert client.get(f"{running.url}/ca.pem").status_code == 404
    assert (running.pin, parse_join_line(running.join).pin) == ("", "")


def pkcs8(pem: bytes) -> bytes:
    from cryptography.hazmat.primitives import serialization as forms

    key = forms.load_pem_private_key(pem, None)
    return key.private_bytes(forms.Encoding.PEM, forms.PrivateFormat.PKCS8, forms.NoEncryption())


@pytest.mark.usefixtures("keys_elsewhere")
def test_what_is_no_certificate_is_said(tmp_path: Path) -> None:
    for name in ("given.pem", "given.key"):
        (tmp_path / name).write_text("no certificate")
    options = ["--certificate", str(tmp_path / "given.pem"), "--key", str(tmp_path / "given.key")]
    assert refused(3, tmp_path / "data", "--listen", "127.0.0.1:0", *options)["code"] == "cannot_serve"


def test_a_request_under_way_is_answered_before_it_ends(tmp_path: Path) -> None:
    with running_endpoint(tmp_path, plain=True) as running:
        url = httpx.URL(running.url)
        with socket.create_connection((url.host, url.port or 80), timeout=patience()) as connection:
            head = f"POST /agents HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {running.token}\r\n"
            body = b'{"id": "0198aaaa-aaaa-7aaa-8aaa-aaaaaaaaaaaa", "name": "ada"}'
            connection.sendall(f"{head}Expect: 100-continue\r\nContent-Length: {len(body)}\r\n\r\n".encode())
            assert connection.recv(100).startswith(b"HTTP/1.1 100"), "the body is waited for"
            connection.sendall(body[:10])
            ending = threading.Thread(target=running.stop)
            ending.start()
            time.sleep(0.2)
            connection.sendall(body[10:])
            assert connection.recv(100).startswith(b"HTTP/1.1 201")
        ending.join(patience())
        assert running.process is not None
        assert running.process.returncode == 0
        with Endpoint.open(running.data) as endpoint:
            assert "agent.add" in [row.kind for row in endpoint.control.audit_rows()]


def test_nothing_inside_of_the_service_talks_over_a_network(endpoint: RunningEndpoint) -> None:
    """Therefore mutual TLS would have nothing to protect (spec §8.5.2)."""
    assert endpoint.process is not None
    first = psutil.Process(endpoint.process.pid)
    with endpoint.client() as client:
        client.get("/agents")
        found = [each for process in (first, *first.children()) for each in process.net_connections("inet")]
    port = httpx.URL(endpoint.url).port
    assert found
    assert {each.laddr.port for each in found if each.laddr} == {port}


def test_no_token_and_no_name_is_in_the_log(endpoint: RunningEndpoint) -> None:
    with endpoint.client() as client:
        client.get("/agents", params={"after": "secret-query"})
        client.get("/transfers/secret-address")
        client.get("/secret-path")
    log = endpoint.log
    assert "route=/transfers/{transfer}" in log
    assert endpoint.token not in log
    assert "secret" not in log


def test_processes_that_answer_end_with_the_first_one(tmp_path: Path) -> None:
    with running_endpoint(tmp_path, plain=True, workers=2) as running:
        assert running.process is not None
        children = psutil.Process(running.process.pid).children(recursive=True)
        running.process.kill()
        gone, alive = psutil.wait_procs(children, timeout=patience())
        assert (len(gone) >= 2, alive) == (True, [])


def test_without_its_libraries_the_server_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "uvicorn.config", None)
    with pytest.raises(ServerMissing) as caught, endpoint_serve._server_required():
        importlib.import_module("uvicorn.config")
    assert caught.value.fix == extra_command("server")


def test_a_token_of_a_server_that_runs_comes_with_its_line(
    endpoint: RunningEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(endpoint.data.parent / "config"))
    made = run("endpoint", "token", "add", "home", "--name", "reader", "--scope", "pull", "--data", endpoint.data)
    join = parse_join_line(made["join"])
    assert (join.url, join.pin, join.token) == (endpoint.url, endpoint.pin, made["token"])
    with endpoint.client(join.token) as client:
        assert client.get("/token").json()["scopes"] == ["pull"]


def test_a_push_whose_answer_was_lost_is_there_when_the_server_is(tmp_path: Path, machine: TrialMachine) -> None:
    machine.capture()
    body, path = machine.snapshot().file.read(), f"/agents/{machine.agent_id}/snapshot"
    with running_endpoint(tmp_path, plain=True, dies=(CrashPoint.ENDPOINT_ANSWERED, 1)) as running:
        with running.client() as client:
            client.post("/agents", json={"id": machine.agent_id, "name": "ada"})
            with pytest.raises(httpx.HTTPError):
                client.put(path, content=body)
        until_ended(running)
        running.restart()
        with running.client() as client:
            found = client.get(f"/agents/{machine.agent_id}")
            assert found.status_code == 200, f"{found.text}\n{running.log}"
            assert found.json()["head"]["digest"] == machine.here.digest.hex()
            assert client.put(path, content=body).status_code == 200


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[TrialMachine]:
    with Vault.create(tmp_path / "vault", UNKNOWN) as vault:
        yield TrialMachine(UNKNOWN, vault, DeviceKey.generate(UserKey.generate()), "laptop")


def test_another_certificate_is_served_without_a_new_start(tmp_path: Path) -> None:
    reloads = []
    server = SimpleNamespace(reload=lambda: reloads.append("reload"))
    wanted = ServeOptions(tmp_path, "127.0.0.1", 8443)
    certificate = CertificateAuthority(tmp_path / "tls", files=SystemFiles(), clock=SystemClock()).certificate(
        {"127.0.0.1"}
    )
    watcher = _CertificateWatcher(wanted, "https://127.0.0.1:8443", certificate, server)
    watcher.look()  # the certificate lacks the names of this machine
    watcher.look()
    assert reloads == ["reload"]


def test_figures_are_not_for_whoever_comes_through_a_proxy(endpoint: RunningEndpoint) -> None:
    with endpoint.client() as client:
        assert client.get("/metrics", headers={"Authorization": ""}).status_code == 200
        assert client.get("/metrics", headers={"X-Forwarded-For": "192.0.2.9"}).status_code == 403
