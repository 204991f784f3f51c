"""Settings of an agent's own tools: files whose name says that they hold settings or secrets, in formats that parse.

Nobody knows their fields, so two things have to speak for a secret: the name of the field and the look of the value.
A file with a cut is not written back without the key, so a false one would hurt.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from lifeboat_adapters.credentials import Secret, UnparsableSecrets
from lifeboat_adapters.secrets import credential_files, dotenv, json5, looks, rules, toml, yaml
from lifeboat_adapters.secrets.finder import secrets_of
from lifeboat_adapters.secrets.leaves import Leaf

LARGEST = 1 << 20
"""Bytes. What is larger is data, whatever it is called."""

_NAME = re.compile(
    r"(?!.*(?:example|sample|template))"
    r"(?:(?:[\w.-]*[._-])?(?:config|settings|secrets?|credentials?|tokens?)(?:[._-][\w.-]*)?"
    r"\.(?P<format>json|json5|jsonc|toml|yaml|yml)|[\w.-]+\.env)",
    re.IGNORECASE,
)
_SCANS: dict[str, Callable[[bytes], list[Leaf]]] = {
    **dict.fromkeys(("json", "json5", "jsonc"), json5.scan),
    **dict.fromkeys(("yaml", "yml"), yaml.scan),
    "toml": toml.scan,
    "env": dotenv.scan,
}


def find(name: str, data: bytes) -> list[Secret] | None:
    """The secrets of a file by its name without folders; None when such a file is not looked into. Files that are made
    for secrets are among them (see `credential_files`).

    Raises UnparsableSecrets for a file that does not parse and holds what looks like a secret; any other that does not
    parse holds none.
    """
    made_for_secrets = credential_files.find(name, data)
    if made_for_secrets is not None:
        return made_for_secrets
    named = _NAME.fullmatch(name)
    if named is None or len(data) > LARGEST:
        return None
    try:
        found = _SCANS[(named["format"] or "env").lower()](data)
    except UnparsableSecrets:
        if looks.find(data):
            raise
        return []
    return secrets_of(data, [leaf for leaf in found if looks.is_secret(rules.text_of(leaf))])
