"""Try a profile on a folder: what Lifeboat would capture, and what does not work."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from lifeboat_adapters.contract import CaptureRoot, Installation, Placement
from lifeboat_adapters.credential_types import UnparsableSecrets
from lifeboat_adapters.folder.folder_adapter import FolderAdapter
from lifeboat_adapters.secrets import secret_cutting
from lifeboat_adapters.secrets.file_secret_search import find_file_secrets
from lifeboat_adapters.small_files import read_small
from lifeboat_alf.common.refusal_texts import refusal_reason

LARGEST = 16 << 20
"""Bytes. Larger files are listed and not read."""


@dataclass(frozen=True, slots=True)
class TriedFile:
    """A file as the profile sees it, by its archive path. `credentials` are labels, never values."""

    path: str
    memories: int
    credentials: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ProfileTrial:
    """The result of a trial. `left_out` gives the reason for each excluded file and folder; `problems` are what must
    be mended before the profile can be used."""

    name: str
    recognised: bool
    files: tuple[TriedFile, ...]
    left_out: Mapping[str, str]
    problems: tuple[str, ...]


def try_profile(adapter: FolderAdapter, folder: Path, user_home: Path) -> ProfileTrial:
    """Apply a profile to a folder, without writing anything. Raises NotAWorkspace for a folder without its files."""
    profile = adapter.profile
    installation = adapter.locate(folder, {}, user_home)
    left_out: dict[str, str] = {}
    names = [name for root in adapter.roots(installation) for name in _names(adapter, root, "", left_out)]
    tried, problems = [], list(_unused_rules(adapter, names))
    recognised = bool(adapter.recognises(folder))
    if not recognised:
        problems.insert(
            0, f"{folder} is not recognised as a workspace of {profile.title}, so `agents add` would need --runtime"
        )
    for path in names:
        try:
            tried.append(_try_file(adapter, path, _read(adapter, installation, path), problems))
        except OSError as error:
            problems.append(f"{path} cannot be read: {refusal_reason(error)}")
        except UnparsableSecrets as error:
            problems.append(f"Lifeboat cannot search {path} for credentials: {error}")
    return ProfileTrial(profile.name, recognised, tuple(tried), left_out, tuple(problems))


def _names(adapter: FolderAdapter, root: CaptureRoot, below: str, left_out: dict[str, str]) -> Iterator[str]:
    """Yield the archive paths that a capture would select, and note what it would leave out."""
    try:
        entries = sorted(os.scandir(root.folder / below), key=lambda entry: entry.name)
    except OSError:
        return
    for entry in entries:
        name = f"{below}/{entry.name}" if below else entry.name
        is_folder = entry.is_dir(follow_symlinks=False)
        if not is_folder and root.only is not None and not any(fnmatchcase(name, glob) for glob in root.only):
            continue
        path = root.prefix + name
        if adapter.place(path, is_folder=is_folder) is Placement.EXCLUDED:
            if root.only is None:
                left_out[path] = adapter.exclusion(path, is_folder=is_folder) or ""
        elif is_folder:
            yield from _names(adapter, root, name, left_out)
        elif entry.is_file(follow_symlinks=False):
            yield path


def _read(adapter: FolderAdapter, installation: Installation, path: str) -> bytes:
    root = next(root for root in adapter.roots(installation) if path.startswith(root.prefix))
    file = root.folder / path.removeprefix(root.prefix)
    return b"" if file.stat().st_size > LARGEST else read_small(file, installation.grounds, limit=LARGEST)


def _try_file(adapter: FolderAdapter, path: str, data: bytes, problems: list[str]) -> TriedFile:
    found = find_file_secrets(adapter, path, data) or []
    spans = [secret_cutting.span_of_secret(data, secret, f"{number:036d}") for number, secret in enumerate(found)]
    made = secret_cutting.cut_spans(data, spans)
    literals = [data[secret.start : secret.end] for secret in found]
    if secret_cutting.fill_placeholders(made.data, made.cuts, lambda name, _: literals[int(name)]) != data:
        problems.append(f"a restore could not put the credentials back into {path} exactly as they were")
    text = data.decode("utf-8", "replace")
    sections = adapter.split(path, text)
    if sections is not None and "".join(section.content for section in sections) != text:
        problems.append(f"the rule in [[memories]] for {path} loses a part of the text")
    memories = [section.text for section in sections or () if section.text.strip()]
    labels = Counter(secret.label for secret in found)
    return TriedFile(path, len(memories), tuple(labels))


def _unused_rules(adapter: FolderAdapter, paths: list[str]) -> Iterator[str]:
    """Yield rules that match no file: a typing error, or files that this folder does not have yet."""
    profile = adapter.profile
    names = [path.removeprefix(profile.raw_home).removeprefix(profile.raw) for path in paths]
    globs = [("memories", rule.glob) for rule in profile.memories if not rule.new]
    globs += [("credentials", rule.glob) for rule in profile.credentials]
    globs += [("volatile", glob) for glob in profile.volatile]
    for table, glob in globs:
        if not any(fnmatchcase(name, glob) for name in names):
            yield f"the rule for {table} matches no file: {glob!r}"
