"""Key in an environment variable: `env:VARIABLE`, 32 bytes as hexadecimal or base64. It is made elsewhere."""

from __future__ import annotations

import os
from pathlib import Path

from lifeboat_vault.at_rest.key_sources.local_key import KEY_BYTES, LocalKey, parse_local_key
from lifeboat_vault.errors import KeySourceRefused

SCHEME = "env"


class EnvironmentKind:
    """`KeySourceKind` of environment variables."""

    def open(self, where: str, *, outside: Path) -> LocalKey:
        return LocalKey(f"{SCHEME}:{where}", lambda: _read(where))

    def make(self, where: str, *, outside: Path) -> None:
        if _read(where) is None:
            raise KeySourceRefused(
                f"the environment variable {where} is not set",
                fix=f"for a new endpoint: export {where}=$(openssl rand -hex {KEY_BYTES}); otherwise set the "
                "variable to the existing key",
            )


def _read(variable: str) -> bytes | None:
    text = os.environ.get(variable)
    if not text:
        return None
    key = parse_local_key(text)
    if key is None:
        raise KeySourceRefused(
            f"the environment variable {variable} must contain {KEY_BYTES} bytes in hexadecimal or base64"
        )
    return key


KEY_SOURCE_KIND = EnvironmentKind()
