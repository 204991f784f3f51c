"""The kind of remotes on SFTP servers: `sftp://[USER@]HOST[:PORT]/PATH`."""

from __future__ import annotations

import importlib.util
import os
import shutil
from typing import TYPE_CHECKING

from lifeboat_core.network.http_addresses import is_loopback
from lifeboat_core.remotes.contract import SEVERAL, RemoteConfig, RemoteKind
from lifeboat_core.remotes.sftp.sftp_address import parse_sftp_address
from lifeboat_keys.installers import extra_command
from lifeboat_vault.errors import RemoteRefused

if TYPE_CHECKING:
    from lifeboat_core.home.context import Context
    from lifeboat_vault.remote.remote_contract import Remote

EXTRA = "sftp"
_NO_LIBRARY = "the library paramiko, which SFTP needs, is not installed"


class SftpKind(RemoteKind):
    """A folder on an SFTP server, as `sftp_files` describes it. ssh authenticates both sides; there is no token."""

    name = "sftp"
    is_sealed_by_default = True
    access_advice = "no token is needed, but ssh needs a key that the server accepts: ssh HOST must work"

    def check_url(self, url: str) -> str:
        return parse_sftp_address(url).url

    def open(self, context: Context, config: RemoteConfig, token: str | None) -> Remote:
        try:
            from lifeboat_core.remotes.sftp.sftp_files import SftpFiles, SftpHome
        except ImportError:
            raise RemoteRefused(_NO_LIBRARY, fix=extra_command(EXTRA)) from None
        from lifeboat_core.remotes.sftp.sftp_log import SftpLog
        from lifeboat_core.remotes.sftp.ssh_pipe import SshPipe

        if os.name == "nt":
            raise RemoteRefused("SFTP remotes need a Unix system; on Windows use an endpoint or a folder")
        address = parse_sftp_address(config.url)
        home = SftpHome(
            context.files,
            context.clock,
            context.home.restore_folder / "tmp",
            lambda: SshPipe(address, context.environment),
        )
        files = SftpFiles(address, config.id, home, sealed=config.sealed)
        return SftpLog(context, files, sealed=config.sealed, name=config.name)

    def readable_by(self, config: RemoteConfig) -> str:
        if not config.sealed:
            return (
                "The folder on the server is not encrypted by this machine. Its operator can read everything except "
                "credentials, which only your key opens."
            )
        return (
            "The folder on the server is encrypted. Without your key, only the number of sequences, their times and "
            "their sizes can be read."
        )

    def describe_store(self, config: RemoteConfig) -> list[str]:
        if config.writers != SEVERAL:
            return []
        return [
            "Several machines may write to the server at the same time, because it refuses to create a file that "
            "another machine has created."
        ]

    def describe_access(self, context: Context, config: RemoteConfig, token: str | None) -> str:
        return f"the keys and the configuration of {shutil.which('ssh', path=context.environment.get('PATH')) or 'ssh'}"

    def needs_network(self, url: str) -> bool:
        return not is_loopback(parse_sftp_address(url).host)

    def find_missing_program(self, context: Context) -> tuple[str, str] | None:
        if importlib.util.find_spec("paramiko") is None:
            return _NO_LIBRARY, extra_command(EXTRA)
        if shutil.which("ssh", path=context.environment.get("PATH")) is None:
            from lifeboat_core.remotes.sftp.ssh_problems import INSTALL_SSH

            return "the program ssh, which SFTP needs, is not installed", INSTALL_SSH
        return None


REMOTE_KIND = SftpKind()
