"""Files of an archive as another installation can read them.

An archive holds what ZeroClaw reads from an encrypted value, and how it was spelled. Beside the key that it was
encrypted with it comes back as it was spelled; elsewhere it is encrypted with the key that is there.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from lifeboat_adapters.contract import Installation
from lifeboat_adapters.credentials import KeyFile, Recrypted, StaysOut, UnparsableSecrets
from lifeboat_adapters.errors import RuntimeConfigError
from lifeboat_adapters.secrets import json5, toml
from lifeboat_adapters.secrets.leaves import Leaf, Path
from lifeboat_adapters.zeroclaw import config, paths
from lifeboat_adapters.zeroclaw.credentials import codec, profiles, secrets
from lifeboat_alf.reasons import Reason

LOCKED = Reason(StaysOut.LOCKED, runtime="ZeroClaw", key=paths.SECRET_KEY)


def key_file(installation: Installation) -> KeyFile | None:
    """The key beside the configuration, a new one where there is none; None when values stand in clear there, or when
    there is no such folder. Raises BadSecretKey."""
    folder = installation.state_dir
    if folder is None:
        return None
    found = codec.read_key_file(folder)
    if found is not None:
        codec.key_of(found)
        return KeyFile(paths.SECRET_KEY, found, is_new=False)
    return KeyFile(paths.SECRET_KEY, codec.new_key(), is_new=True) if encrypts(installation) else None


def encrypts(installation: Installation) -> bool:
    """Whether an installation encrypts its secrets, as it does unless it is told not to."""
    if installation.state_dir is None:
        return False
    try:
        values = config.read(installation.config or installation.state_dir / paths.CONFIG)
    except RuntimeConfigError:
        return True
    return config.get(values, "secrets", "encrypt") is not False


def recrypted(
    installation: Installation,
    path: str,
    data: bytes,
    values: Mapping[Path, str],
    key: KeyFile | None,
    *,
    translated: bool = False,
) -> Recrypted:
    """See `contract.Adapter.recrypted`."""
    name = path.removeprefix(paths.HOME)
    if name not in (paths.CONFIG, paths.AUTH_PROFILES):
        return Recrypted(data)
    secret = None if key is None else codec.key_of(key.data)
    target = secret if encrypts(installation) else None
    unreadable: dict[Path, Reason] = {}
    pieces: list[bytes] = []
    at = 0
    for leaf in _leaves(name, data):
        if not isinstance(leaf.value, str):
            continue
        spelled = _spelled(leaf, leaf.value, values.get(leaf.path), (secret, target), translated=translated)
        if spelled is None:
            unreadable[leaf.path] = LOCKED
        elif spelled != leaf.value:
            pieces += [data[at : leaf.start], literal(spelled)]
            at = leaf.end
    return Recrypted(b"".join([*pieces, data[at:]]), unreadable)


def literal(text: str) -> bytes:
    """A string as JSON and TOML both spell it."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f").encode("utf-8", "replace")


def _leaves(name: str, data: bytes) -> list[Leaf]:
    try:
        return toml.scan(data) if name == paths.CONFIG else json5.scan(data)
    except UnparsableSecrets as error:
        raise ValueError(str(error)) from None


def _spelled(
    leaf: Leaf, found: str, value: str | None, keys: tuple[bytes | None, bytes | None], *, translated: bool
) -> str | None:
    """How a value is spelled in an installation; None for one that nobody can read there. Of the keys the first opens
    what was encrypted there, the second is the same where it encrypts at all."""
    key, target = keys
    if not codec.is_encrypted(found):
        is_secret = translated and (secrets.kind_of(leaf) is not None or leaf.path[2:] in profiles.MEMBERS)
        return codec.encrypt(found, target) if is_secret and target is not None and found else found
    if _opens(found, key):
        return found
    plain = _member(value, leaf)
    if plain is None or codec.is_encrypted(plain):
        return None
    return plain if target is None else codec.encrypt(plain, target)


def _opens(value: str, key: bytes | None) -> bool:
    try:
        codec.decrypt(value, key)
    except codec.UnreadableSecret:
        return False
    return True


def _member(value: str | None, leaf: Leaf) -> str | None:
    """The part of a login that stands at a place; all of any other credential."""
    if value is None or leaf.path[2:] not in profiles.MEMBERS:
        return value
    try:
        members = json.loads(value)
    except (ValueError, RecursionError):
        return value
    member = members.get(str(leaf.path[2])) if isinstance(members, dict) else None
    return member if isinstance(member, str) else value
