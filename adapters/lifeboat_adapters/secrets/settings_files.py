"""Find secrets in settings of an agent's own tools: files whose name says that they hold settings or secrets, in
formats that parse.

Their fields are unknown, so both the name of the field and the look of the value have to indicate a secret. A file with
a cut is not restored without the key, so a wrong match would do harm.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from lifeboat_adapters.credential_types import FileSecret, UnparsableSecrets
from lifeboat_adapters.secrets import (
    credential_files,
    dotenv_leaves,
    json5_leaves,
    secret_names,
    secret_patterns,
    toml_leaves,
    yaml_leaves,
)
from lifeboat_adapters.secrets.parsed_leaves import ParsedLeaf
from lifeboat_adapters.secrets.secret_finder import secrets_of

LARGEST = 1 << 20
"""Bytes. Larger files are treated as data, regardless of their name."""

_NAME = re.compile(
    r"(?!.*(?:example|sample|template))"
    r"(?:(?:[\w.-]*[._-])?(?:config|settings|secrets?|credentials?|tokens?)(?:[._-][\w.-]*)?"
    r"\.(?P<format>json|json5|jsonc|toml|yaml|yml)|[\w.-]*\.env(?:\.[\w.-]+)?)",
    re.IGNORECASE,
)
_SCANS: dict[str, Callable[[bytes], list[ParsedLeaf]]] = {
    **dict.fromkeys(("json", "json5", "jsonc"), json5_leaves.scan_json5),
    **dict.fromkeys(("yaml", "yml"), yaml_leaves.scan_yaml),
    "toml": toml_leaves.scan_toml,
    "env": dotenv_leaves.scan_dotenv,
}


def find_settings_secrets(name: str, data: bytes) -> list[FileSecret] | None:
    """Return the secrets of a file by its name without folders, None when such a file is not searched. Credential files
    are among them (see `credential_files`).

    Raises UnparsableSecrets for a file that does not parse and holds text that looks like a secret. Any other file that
    does not parse has none.
    """
    made_for_secrets = credential_files.find_credential_file_secrets(name, data)
    if made_for_secrets is not None:
        return made_for_secrets
    named = _NAME.fullmatch(name)
    if named is None or len(data) > LARGEST:
        return None
    try:
        found = _SCANS[(named["format"] or "env").lower()](data)
    except UnparsableSecrets:
        if secret_patterns.find_secret_matches(data):
            raise
        return []
    return secrets_of(
        data, [leaf for leaf in found if secret_patterns.is_likely_secret(secret_names.secret_text_of(leaf))]
    )
