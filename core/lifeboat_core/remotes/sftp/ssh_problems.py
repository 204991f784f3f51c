"""Why an SFTP server cannot be used, and the command that helps.

ssh tells its reasons only in text, which is the same in every language. What is not recognised is shown as it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from lifeboat_core.remotes.sftp.sftp_address import SftpAddress, quote_sftp_path
from lifeboat_core.remotes.sftp.ssh_pipe import PipeBroken
from lifeboat_core.texts.human_text import quote_argument
from lifeboat_core.texts.safe_text import line_text
from lifeboat_vault import errors

_LONGEST_LINE = 300
_RETRY = 30.0


class _SshFailure(NamedTuple):
    """A text of ssh, the cause in our words, the error, and the command that helps."""

    printed: re.Pattern[str]
    cause: str
    error: Callable[..., errors.RemoteError]
    fix: Callable[[SftpAddress], str]


def _connect(address: SftpAddress) -> str:
    return address.ssh_command()


def _show_configuration(address: SftpAddress) -> str:
    return " ".join(["ssh", "-G", *(quote_argument(word) for word in address.ssh_words)])


def _forget_key(address: SftpAddress) -> str:
    host = f"[{address.host}]:{address.port}" if address.port not in (0, 22) else address.host
    return f"ssh-keygen -R {quote_argument(host)}"


def _failure(
    printed: str, cause: str, error: Callable[..., errors.RemoteError], fix: Callable[[SftpAddress], str] = _connect
) -> _SshFailure:
    return _SshFailure(re.compile(printed, re.IGNORECASE), cause, error, fix)


_FAILURES = (
    _failure(
        r"REMOTE HOST IDENTIFICATION HAS CHANGED",
        "the host key of the server has changed: it may be another server. Compare the new key with its operator "
        "before you remove the known one",
        errors.RemoteUntrusted,
        _forget_key,
    ),
    _failure(
        r"Host key verification failed|host key is known|not match any known host",
        "ssh does not know the host key of the server. Connect once and compare the key with its operator",
        errors.RemoteUntrusted,
    ),
    _failure(
        r"Permission denied|Too many authentication failures",
        "the server does not accept a key of ssh. The daemon can use keys without a passphrase, or those of an agent "
        "that its environment or your ssh configuration (IdentityAgent) names",
        errors.RemoteDenied,
    ),
    _failure(
        r"Could not resolve hostname", "there is no host with this name", errors.RemoteUnreachable, _show_configuration
    ),
    _failure(r"Connection refused", "no SSH server listens on the port", errors.RemoteUnreachable, _show_configuration),
    _failure(
        r"timed out|No route to host|Network is unreachable|Timeout, server",
        "the server did not answer ssh",
        errors.RemoteUnreachable,
    ),
    _failure(
        r"subsystem request failed|sftp-server.*(not found|No such file)|administratively prohibited",
        "the server does not offer SFTP. Its operator must enable the subsystem sftp for your account",
        errors.RemoteRefused,
    ),
    _failure(
        r"Bad configuration option|Bad owner or permissions|terminating, \d+ bad configuration",
        "ssh refuses its configuration",
        errors.RemoteUnreachable,
        _show_configuration,
    ),
)


def explain_broken_pipe(address: SftpAddress, broken: PipeBroken) -> errors.RemoteError:
    """Return the error for a connection that ended, by what ssh printed."""
    lines = [line for line in broken.errors.splitlines() if line.strip()]
    for failure in _FAILURES:
        if failure.printed.search(broken.errors):
            printed = next((line for line in reversed(lines) if failure.printed.search(line)), "")
            return failure.error(f"{address.url}: {failure.cause} (ssh: {_shown(printed)})", fix=failure.fix(address))
    said = f" (ssh: {_shown(lines[-1])})" if lines else ""
    return errors.RemoteUnreachable(f"{address.url}: {broken.problem}{said}", fix=_connect(address))


def _shown(line: str) -> str:
    return line_text(line.strip())[:_LONGEST_LINE]


def explain_missing_ssh() -> errors.RemoteError:
    """Return the error for a machine without ssh."""
    return errors.RemoteRefused("the program ssh is not installed", fix=INSTALL_SSH)


INSTALL_SSH = "sudo apt install openssh-client"


def explain_garbled(address: SftpAddress) -> errors.RemoteError:
    """Return the error for answers that are not SFTP."""
    return errors.RemoteUnreachable(
        f"{address.url}: the answer is not SFTP. A login script on the server may print text, or the connection was "
        "damaged",
        fix=_connect(address),
    )


def explain_denied(address: SftpAddress, doing: str) -> errors.RemoteDenied:
    """Return the error for an operation that the server denies, in the middle of a session."""
    return errors.RemoteDenied(
        f"{address.url}: the account has no permission, {doing}; the account may be read-only",
        fix=_list(address),
    )


def explain_read_only(address: SftpAddress) -> errors.RemoteDenied:
    """Return the error for a read-only file system."""
    return errors.RemoteDenied(
        f"{address.url}: the file system on the server is read-only", fix=address.ssh_command("mount")
    )


def explain_no_links(address: SftpAddress) -> errors.RemoteRefused:
    """Return the error for a server that does not link a file."""
    return errors.RemoteRefused(
        f"{address.url}: the file system on the server does not support hard links, which prevent that simultaneous "
        "writers lose data. Mount the folder and add it as a file:// remote",
        fix="lifeboat remote add --help",
    )


def explain_failed_read(address: SftpAddress) -> errors.RemoteUnreachable:
    """Return the error for a failed operation that does not write."""
    return errors.RemoteUnreachable(
        f"{address.url}: the server could not read and gave no cause",
        fix=_list(address),
    )


def explain_full(address: SftpAddress, *, is_known: bool) -> errors.RemoteFull:
    """Return the error for a failed write. `is_known`: the server said that no space is left."""
    cause = "no space is left on the server" if is_known else _UNKNOWN_WRITE
    return errors.RemoteFull(f"{address.url}: {cause}", retry_after=_RETRY)


_UNKNOWN_WRITE = "the server could not write and gave no cause; a quota may be used up, or its disk may be damaged"


def explain_missing_parent(address: SftpAddress, missing: list[str]) -> errors.RemoteUnreachable:
    """Return the error for a new remote whose folder has no parent; `missing` are the folders above it that do not
    exist, from the top."""
    return errors.RemoteUnreachable(
        f"{address.url}: the folder above it does not exist on the server",
        fix=address.sftp_command(*(f"mkdir {quote_sftp_path(each)}" for each in missing)),
    )


def explain_no_folder(address: SftpAddress, path: str) -> errors.RemoteUnreachable:
    """Return the error for a file in the place of a folder."""
    return errors.RemoteUnreachable(
        f"{address.url}: {path} is not a folder", fix=address.sftp_command(f"ls -la {quote_sftp_path(path)}")
    )


def _list(address: SftpAddress) -> str:
    return address.sftp_command(f"ls -la {quote_sftp_path(address.path)}")


def explain_absent_remote(address: SftpAddress) -> errors.RemoteUnreachable:
    """Return the error for a known remote that is not in its folder."""
    return errors.RemoteUnreachable(
        f"{address.url} does not contain the remote: a disk of the server may not be mounted, or the folder was "
        "moved or emptied",
        fix=_list(address),
    )


def explain_other_remote(address: SftpAddress, found_id: str) -> errors.RemoteUnreachable:
    """Return the error for another remote in the folder of a known one."""
    return errors.RemoteUnreachable(
        f"{address.url} contains another remote ({found_id}): the wrong disk may be mounted on the server",
        fix=_list(address),
    )
