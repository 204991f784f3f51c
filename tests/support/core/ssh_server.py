"""A real OpenSSH server on a port of this machine, and an `ssh` for tests that reads no configuration of the user."""

from __future__ import annotations

import contextlib
import getpass
import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from support.patience import patience
from support.waiting import until

HOST = "boat"
"""The name of the server in the configuration of ssh."""
_SERVER = shutil.which("sshd", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
_SSH = shutil.which("ssh")


@dataclass(frozen=True)
class SshServer:
    """`folder` has its configuration, `root` is for remotes, `programs` is a PATH with the `ssh` of the tests."""

    folder: Path
    port: int
    process: subprocess.Popen[bytes]

    @property
    def root(self) -> Path:
        return self.folder / "root"

    @property
    def programs(self) -> str:
        return f"{self.folder / 'bin'}:/usr/bin:/bin"

    @property
    def known_hosts(self) -> Path:
        return self.folder / "known_hosts"

    def url(self, name: str = "lifeboat") -> str:
        return f"sftp://{HOST}{self.root}/{name}"

    def trust(self, key: str = "host_key") -> None:
        """Write which host key ssh expects."""
        public = (self.folder / f"{key}.pub").read_text()
        self.known_hosts.write_text(f"[127.0.0.1]:{self.port} {public}")


@contextmanager
def ssh_server(folder: Path, subsystem: str = "internal-sftp", *options: str) -> Iterator[SshServer]:
    """Run a server, whose subsystem sftp is the given one ("" for none)."""
    if _SERVER is None or _SSH is None:
        pytest.skip("no OpenSSH server is installed: make system-packages")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "root").mkdir()
    for name in ("host_key", "user_key", "other_key"):
        _run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", str(folder / name))
    shutil.copy(folder / "user_key.pub", folder / "authorized_keys")
    if os.geteuid() == 0:
        Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)  # sshd demands it of root
    port = _free_port()
    (folder / "sshd_config").write_text(_server_configuration(folder, port, subsystem, options))
    write_program(folder / "bin", f'exec {_SSH} -F "{folder}/ssh_config" "$@"')
    write_program(folder / "bin", f'exec {shutil.which("sftp")} -F "{folder}/ssh_config" "$@"', name="sftp")
    (folder / "ssh_config").write_text(_client_configuration(folder, port))
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen([_SERVER, "-D", "-e", "-f", str(folder / "sshd_config")], stderr=log)
    try:
        until(lambda: process.poll() is not None or _listens(port), "sshd")
        assert process.poll() is None, (folder / "log").read_text()
        server = SshServer(folder, port, process)
        server.trust()
        yield server
    finally:
        process.terminate()
        process.wait(patience())


def write_program(folder: Path, text: str, shell: str = "/bin/sh", *, name: str = "ssh") -> str:
    """Write a program into a folder. Return a PATH that begins with the folder."""
    folder.mkdir(exist_ok=True)
    program = folder / name
    program.write_text(f"#!{shell}\n{text}\n")
    program.chmod(0o755)
    return f"{folder}:/usr/bin:/bin"


def _server_configuration(folder: Path, port: int, subsystem: str, options: tuple[str, ...]) -> str:
    lines = [
        f"Port {port}",
        "ListenAddress 127.0.0.1",
        f"HostKey {folder}/host_key",
        f"AuthorizedKeysFile {folder}/authorized_keys",
        "StrictModes no",
        "UsePAM no",
        "PasswordAuthentication no",
        "KbdInteractiveAuthentication no",
        "MaxStartups 100",
        "PidFile none",
        "LogLevel ERROR",
        *options,
    ]
    return "\n".join([*lines, *([f"Subsystem sftp {subsystem}"] if subsystem else [])]) + "\n"


def _client_configuration(folder: Path, port: int) -> str:
    own = ["HostName 127.0.0.1", f"Port {port}", f"User {getpass.getuser()}"]
    general = [
        f"IdentityFile {folder}/user_key",
        "IdentitiesOnly yes",
        "IdentityAgent none",
        f"UserKnownHostsFile {folder}/known_hosts",
        "GlobalKnownHostsFile none",
        "BatchMode yes",
    ]
    return "\n".join([f"Host {HOST}", *own, "Host *", *general]) + "\n"


def _run(*words: str) -> None:
    subprocess.run(words, check=True, stdin=subprocess.DEVNULL, timeout=patience())


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _listens(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=patience()):
        return True
    return False
