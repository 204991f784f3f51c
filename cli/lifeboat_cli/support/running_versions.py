"""Versions that a fault report has to contain."""

from __future__ import annotations

import platform
import sqlite3
import ssl
import sys
from importlib import metadata

PROGRAM = "agent-lifeboat"
LIBRARIES = (
    *("click", "cryptography", "httpx", "keyring", "msgspec", "pynacl", "textual", "watchdog"),
    *("pyrage", "starlette", "uvicorn", "psycopg", "obstore"),
)
"""Libraries that determine what is written, and those of the extras `archive`, `server` and `scale`."""


def running_versions() -> dict[str, object]:
    """Return the versions of the program, of Python, of the platform and of libraries; None for a library of an extra
    that is not installed."""
    return {
        "version": metadata.version(PROGRAM),
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "platform": f"{sys.platform} {platform.release()} {platform.machine()}",
        "libraries": {
            "sqlite": sqlite3.sqlite_version,
            "openssl": ssl.OPENSSL_VERSION.split()[1],
            **{name: _version(name) for name in LIBRARIES},
        },
    }


def version_lines() -> list[str]:
    """Return the versions for people."""
    found = running_versions()
    libraries = found["libraries"]
    assert isinstance(libraries, dict)
    return [
        f"lifeboat, version {found['version']}",
        f"{found['python']}, {found['platform']}",
        ", ".join(f"{name} {version or 'not installed'}" for name, version in libraries.items()),
    ]


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None
