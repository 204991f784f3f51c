"""A database is reached over a local socket, or over TLS that proves its name. Anything else is refused before data is
sent."""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
import trustme

from lifeboat_endpoint.engines.postgres import connection_pools
from lifeboat_endpoint.engines.postgres.connection_pools import Database, Pools, check_database_address
from lifeboat_endpoint.engines.postgres.postgres_store import PostgresStore
from lifeboat_vault import errors
from support.endpoint.shared_databases import API, WORKER, SharedDatabase, shared_database
from support.patience import patience
from support.postgres_server import PASSWORD

_SAFE = "sslmode=verify-full sslrootcert=/etc/authority.pem"


@pytest.mark.parametrize(
    "address",
    [
        "postgresql:///lifeboat",
        "postgresql:///lifeboat?host=/run/postgresql",
        "postgresql:///lifeboat?host=/run/a,/run/b&port=5432,5433",
        "dbname=lifeboat host=@abstract passfile=/etc/lifeboat/passfile",
        f"dbname=lifeboat host=db.example.com {_SAFE}",
        f"dbname=lifeboat host=a.example.com,b.example.com hostaddr=192.0.2.1,192.0.2.2 {_SAFE}",
        "postgresql://db.example.com:6432/lifeboat?sslmode=verify-full&sslrootcert=system",
        f"dbname=lifeboat host=db.example.com {_SAFE} sslcert=/etc/own.pem sslkey=/etc/own.key",
    ],
)
def test_this_address_is_safe(address: str) -> None:
    assert check_database_address(address) == address


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://db.example.com/lifeboat",
        "postgresql://127.0.0.1/lifeboat",
        "postgresql:///lifeboat?host=/run/postgresql,db.example.com",
        "dbname=lifeboat host=/run/postgresql hostaddr=192.0.2.1",
        f"dbname=lifeboat hostaddr=192.0.2.1 {_SAFE}",
        "dbname=lifeboat host=db.example.com sslmode=verify-full",
        *(
            f"dbname=lifeboat host=db.example.com sslrootcert=/etc/authority.pem sslmode={mode}"
            for mode in ("disable", "allow", "prefer", "require", "verify-ca")
        ),
        "postgresql://user:word-that-is-secret@/lifeboat?host=/run/postgresql",
        "dbname=lifeboat host=/run/postgresql password=word-that-is-secret",
        f"dbname=lifeboat host=db.example.com {_SAFE} sslkey=/etc/own.key sslpassword=word-that-is-secret",
        "dbname=lifeboat host=/run/postgresql service=word-that-is-secret",
        "dbname=lifeboat host=/run/postgresql options='-c word-that-is-secret'",
        "dbname=lifeboat host=/run/postgresql client_encoding=word-that-is-secret",
        "dbname=life boat word-that-is-secret",
        "word-that-is-secret",
    ],
)
def test_this_address_is_refused_and_not_repeated(address: str) -> None:
    with pytest.raises(errors.EndpointSettings) as caught:
        check_database_address(address)
    assert "word-that-is-secret" not in f"{caught.value.message} {caught.value.fix}"
    with pytest.raises(errors.EndpointSettings):
        Pools(Database(address, API))


@pytest.mark.parametrize("name", ["PGHOST", "PGHOSTADDR"])
def test_a_variable_of_the_environment_counts_as_part_of_the_address(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, "192.0.2.1")
    with pytest.raises(errors.EndpointSettings):
        check_database_address("postgresql:///lifeboat")


def test_a_socket_in_the_address_counts_more_than_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGHOST", "192.0.2.1")
    assert check_database_address("postgresql:///lifeboat?host=/run/postgresql")


# Over a network -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Network:
    """A database on a port of this machine, with TLS. `folder` has the files of its authority and of its clients."""

    database: SharedDatabase
    port: int
    folder: Path

    def address(self, more: str = "", *, host: str = "localhost", authority: str = "authority.pem") -> str:
        return (
            f"dbname={self.database.name} host={host} hostaddr=127.0.0.1 port={self.port} sslmode=verify-full"
            f" sslrootcert={self.folder / authority} passfile={self.database.server.folder}/passfile {more}"
        )

    def check(self, address: str, role: str = API) -> None:
        with closing(Pools(Database(address, role), connections=4)) as pools:
            pools.check()

    def restarted(self, options: str) -> None:
        """Restart it with other settings of TLS."""
        folder = self.database.server.folder
        every = f"-c listen_addresses=127.0.0.1 -c port={self.port} -c ssl_cert_file={folder}/server.pem"
        every += f" -c ssl_key_file={folder}/server.key -c ssl_ca_file={folder}/authority.pem {options}"
        replace(self.database.server, options=every).restart("fast")


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Network]:
    """A server that admits `lifeboat_worker` by its certificate alone, and the other roles by their password."""
    folder = tmp_path_factory.mktemp("authorities")
    authority, other = trustme.CA(), trustme.CA()
    authority.cert_pem.write_to_path(str(folder / "authority.pem"))
    other.cert_pem.write_to_path(str(folder / "other.pem"))
    _write_client_files(folder, "client", authority, WORKER)
    _write_client_files(folder, "stranger", other, WORKER)
    _write_client_files(folder, "api", authority, API)
    with shared_database() as database:
        place = database.server.folder
        server = authority.issue_cert("localhost", "db.example.com")
        server.cert_chain_pems[0].write_to_path(str(place / "server.pem"))
        server.private_key_pem.write_to_path(str(place / "server.key"))
        authority.cert_pem.write_to_path(str(place / "authority.pem"))
        (place / "server.key").chmod(0o600)
        (place / "data" / "pg_hba.conf").write_text(
            f"local all all scram-sha-256\nhostssl all {WORKER} all cert\nhostssl all all all scram-sha-256\n"
            "hostnossl all all all scram-sha-256\n"
        )
        if place.owner() == "postgres":
            shutil.chown(place / "server.key", "postgres")
        with socket.socket() as found:
            found.bind(("127.0.0.1", 0))
            port = found.getsockname()[1]
        made = Network(database, port, folder)
        made.restarted("-c ssl=on")
        yield made


def _write_client_files(folder: Path, name: str, authority: trustme.CA, role: str) -> None:
    made = authority.issue_cert("client.example.com", common_name=role)
    made.cert_chain_pems[0].write_to_path(str(folder / f"{name}.pem"))
    made.private_key_pem.write_to_path(str(folder / f"{name}.key"))
    (folder / f"{name}.key").chmod(0o600)


@pytest.fixture(autouse=True)
def _short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection_pools, "WAIT_SECONDS", 1.0)


def test_a_server_with_the_name_that_was_meant_is_spoken_to_in_tls_1_3(network: Network) -> None:
    for host in ("localhost", "db.example.com"):
        with closing(Pools(Database(network.address(host=host), API))) as pools:
            rows = PostgresStore(pools.control, "control", tenant=None)
            said = "select ssl, version from pg_stat_ssl where pid = pg_backend_pid()"
            assert rows.row(said) == (True, "TLSv1.3")


def test_a_server_with_another_name_is_told_nothing(network: Network) -> None:
    with pytest.raises(errors.VaultUnusable, match="denied access"):
        network.check(network.address(host="other.example.com"))


def test_of_several_servers_the_one_that_proves_its_name_is_used(network: Network) -> None:
    port = str(network.port)
    several = network.address(host="other.example.com,localhost").replace(
        "hostaddr=127.0.0.1", "hostaddr=127.0.0.1,::1"
    )
    with pytest.raises(errors.VaultBusy):
        network.check(several)  # no server listens at the second address
    network.check(several.replace(",::1", ",127.0.0.1").replace(f"port={port}", f"port={port},{port}"))


def test_a_server_of_another_authority_is_told_nothing(network: Network) -> None:
    with pytest.raises(errors.VaultUnusable, match="denied access"):
        network.check(network.address(authority="other.pem"))


def test_who_needs_a_certificate_of_his_own_is_let_in_with_it_alone(network: Network) -> None:
    with pytest.raises(errors.VaultUnusable):
        network.check(network.address(), WORKER)
    network.check(network.address(_own_certificate(network, "client")), WORKER)


@pytest.mark.parametrize("name", ["stranger", "api"], ids=["of another authority", "of another role"])
def test_another_certificate_lets_nobody_in(network: Network, name: str) -> None:
    with pytest.raises(errors.VaultUnusable):
        network.check(network.address(_own_certificate(network, name)), WORKER)


def _own_certificate(network: Network, name: str) -> str:
    return f"sslcert={network.folder / f'{name}.pem'} sslkey={network.folder / f'{name}.key'}"


@pytest.mark.parametrize("name", ["PGSSLMODE", "PGGSSENCMODE", "PGSSLMINPROTOCOLVERSION"])
def test_no_variable_of_the_environment_weakens_it(
    network: Network, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, {"PGSSLMINPROTOCOLVERSION": "TLSv1"}.get(name, "disable"))
    with closing(Pools(Database(network.address(), API))) as pools, pools.control.connection() as connection:
        assert connection.pgconn.ssl_in_use


def test_a_password_is_no_part_of_an_error(network: Network, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGPASSWORD", f"{PASSWORD}-but-wrong")
    with pytest.raises(errors.VaultUnusable) as caught:
        network.check(network.address().replace("/passfile", "/nothing"))
    assert PASSWORD not in f"{caught.value.message} {caught.value.fix}"


def test_a_server_that_takes_no_writes_is_not_the_one_that_was_meant(network: Network) -> None:
    """A standby reports this, and so does the old server after a failover."""
    network.restarted("-c ssl=on -c default_transaction_read_only=on")
    try:
        with pytest.raises(errors.VaultBusy):
            network.check(network.address())
    finally:
        network.restarted("-c ssl=on")


@pytest.mark.parametrize("options", ["-c ssl=off", "-c ssl=on -c ssl_max_protocol_version=TLSv1.2"])
def test_a_server_that_speaks_less_is_not_spoken_to(network: Network, options: str) -> None:
    network.restarted(options)
    try:
        with pytest.raises(errors.VaultUnusable, match="denied access"):
            network.check(network.address())
    finally:
        network.restarted("-c ssl=on")


def test_without_the_libraries_it_is_said_what_installs_them() -> None:
    code = """
import sys
sys.modules["psycopg"] = None
from lifeboat_vault import errors
try:
    import lifeboat_endpoint.engines.postgres.postgres_store
except errors.ServerMissing as error:
    print(error.fix)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=patience(), check=True)
    assert "psycopg[binary,pool]" in done.stdout
