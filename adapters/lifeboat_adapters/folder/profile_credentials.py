"""Find the credentials in the files of a profile: by the names of values, by listed paths, or as whole files."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase

from lifeboat_adapters.credential_types import FileSecret, UnparsableSecrets
from lifeboat_adapters.folder.folder_profile import CredentialRule, FolderProfile
from lifeboat_adapters.secrets import (
    dotenv_leaves,
    json5_leaves,
    secret_finder,
    secret_names,
    settings_files,
    toml_leaves,
    yaml_leaves,
)
from lifeboat_adapters.secrets.parsed_leaves import ParsedLeaf, Path, paths_at_offsets

LARGEST = 4 << 20
"""Bytes. Reading a larger file value by value would block a capture."""

_SCANS: Mapping[str, Callable[[bytes], list[ParsedLeaf]]] = {
    **dict.fromkeys(("json", "json5", "jsonc"), json5_leaves.scan_json5),
    **dict.fromkeys(("yaml", "yml"), yaml_leaves.scan_yaml),
    "toml": toml_leaves.scan_toml,
    "env": dotenv_leaves.scan_dotenv,
}


def find_profile_secrets(profile: FolderProfile, name: str, data: bytes) -> list[FileSecret] | None:
    """Return the spans to cut in a file, by its name in the workspace or in the home, None for a file without secrets.

    Raises UnparsableSecrets for a file that a rule names and that cannot be read.
    """
    rules = [rule for rule in profile.credentials if fnmatchcase(name, rule.glob)]
    plain = name.rpartition("/")[2]
    if not rules:
        return settings_files.find_settings_secrets(plain, data)
    whole = next((rule for rule in rules if rule.whole), None)
    if whole is not None:
        value = data.decode("utf-8", "surrogateescape")
        service = whole.service or profile.name
        return [FileSecret(0, len(data), value, service, "custom", name, bound=whole.bound)] if data else []
    if len(data) > LARGEST:
        raise UnparsableSecrets(f"the file is larger than the limit of {LARGEST >> 20} MB")
    found = [_secret_at(data, leaf, rule) for leaf in scan_leaves(name, data) if (rule := _rule_for(leaf, rules))]
    labelled = [replace(secret, label=f"{plain}: {secret.label}") for secret in found]
    return secret_finder.add_secret_matches(plain, data, labelled)


def scan_leaves(name: str, data: bytes) -> list[ParsedLeaf]:
    """Return the values of a configuration file by its suffix. Raises UnparsableSecrets, also for an unknown suffix."""
    plain = name.rpartition("/")[2].lower()
    suffix = "env" if plain == ".env" or plain.startswith(".env.") else plain.rpartition(".")[2]
    if suffix not in _SCANS:
        raise UnparsableSecrets(f"{plain} is not a valid JSON, YAML, TOML or dotenv file")
    return _SCANS[suffix](data)


def find_profile_secret_places(name: str, data: bytes, offsets: Sequence[int]) -> list[Path]:
    """Return the paths in a cut file at which its cuts stand, () where that is unknown."""
    try:
        return paths_at_offsets(scan_leaves(name, data), offsets)
    except UnparsableSecrets:
        return [()] * len(offsets)


def _rule_for(leaf: ParsedLeaf, rules: Sequence[CredentialRule]) -> CredentialRule | None:
    """Return the rule by which a value is a credential: one that lists its path, or the first one if its name shows
    it."""
    text = secret_names.secret_text_of(leaf)
    if not text or secret_names.is_reference(text):
        return None
    listed = next((rule for rule in rules if any(matches_path(path, leaf.path) for path in rule.paths)), None)
    if listed is not None:
        return listed
    return rules[0] if secret_names.credential_type_of_leaf(leaf) is not None else None


def matches_path(pattern: str, path: Path) -> bool:
    """Return whether a path fits a pattern such as `providers.*.apiKey`. `*` fits one step, `**` at the end all that
    follow."""
    steps = pattern.split(".")
    if steps[-1] == "**":
        steps = steps[:-1]
        if len(path) <= len(steps):
            return False
        path = path[: len(steps)]
    return len(steps) == len(path) and all(
        step == "*" or step == str(found) for step, found in zip(steps, path, strict=True)
    )


def _secret_at(data: bytes, leaf: ParsedLeaf, rule: CredentialRule) -> FileSecret:
    kind = secret_names.credential_type_of_leaf(leaf) or "custom"
    service = rule.service or secret_names.service_of_leaf(leaf)
    return replace(secret_finder.secret_at(data, leaf, service, kind), bound=rule.bound)
