"""Credentials of an S3-compatible store from a file as the AWS tools write it.

The file is read again every few minutes, so that replaced credentials are used without a restart.
"""

from __future__ import annotations

import configparser
import os
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from lifeboat_alf.seams.file_operations import NotRegular, SystemFiles
from lifeboat_vault.errors import EndpointSettings

if TYPE_CHECKING:
    from obstore.store import S3Credential

GOOD_FOR = timedelta(minutes=5)
_OTHERS = 0o077
_LONGEST = 64 << 10
_FILES = SystemFiles()


def make_provider(file: Path, profile: str) -> Callable[[], S3Credential]:
    """Return the function that the library calls for credentials. Raises EndpointSettings if the file holds none
    now."""
    read_credentials(file, profile)
    return lambda: read_credentials(file, profile)


def read_credentials(file: Path, profile: str) -> S3Credential:
    """Read the credentials. Raises EndpointSettings; its message never repeats content of the file."""
    parser = configparser.ConfigParser(interpolation=None, default_section="")
    try:
        parser.read_string(read_credential_text(file))
        section = parser[profile]
        return {
            "access_key_id": section["aws_access_key_id"],
            "secret_access_key": section["aws_secret_access_key"],
            "token": section.get("aws_session_token"),
            "expires_at": datetime.now(UTC) + GOOD_FOR,
        }
    except (configparser.Error, KeyError):
        pass
    raise EndpointSettings(
        f"{file} contains no keys for [{profile}]",
        fix=f"[{profile}], aws_access_key_id = ..., aws_secret_access_key = ...",
    )


def read_credential_text(file: Path) -> str:
    """Return the text of a file with credentials. Raises EndpointSettings, also if other users can read it.

    Links are followed: a file that is mounted into a container is a link, whose target changes when credentials are
    replaced.
    """
    try:
        descriptor = _FILES.open_regular(file.resolve())
    except NotRegular:
        raise EndpointSettings(f"{file} is not a regular file") from None
    except OSError as error:
        raise EndpointSettings(f"{file} cannot be read: {error.strerror or error}") from None
    with os.fdopen(descriptor, "rb") as stream:
        if os.name == "posix" and os.fstat(descriptor).st_mode & _OTHERS:
            raise EndpointSettings(f"other users can read {file}, which contains secret keys", fix=f"chmod 600 {file}")
        return stream.read(_LONGEST).decode("utf-8", "replace")
