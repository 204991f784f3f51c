"""Capture databases that consist of many files (LanceDB, LevelDB, DuckDB with its log) in one state, or not at all.

They have no lock that another program could take. A store that is being written is skipped, and what was read is used
only if no file of the store changed or went until the last one was read.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from lifeboat_adapters.stable_reads.file_reading import stat_key_of
from lifeboat_alf.seams.file_operations import FileOperations
from lifeboat_core.capture.root_scan import FILE, RootScan, ScannedEntry

SETTLED_NS = 1_000_000_000
BEING_WRITTEN = "a program is writing the files; Lifeboat keeps the last captured version until they stop changing"
CHANGED = "the files changed while Lifeboat read them; Lifeboat keeps the last captured version"
LATE = "Lifeboat captures a large file later; until then it keeps the last captured version"
_LOG = ".wal"


@dataclass(frozen=True, slots=True)
class MultiFileStore:
    """One store. `name` is the native name of its folder (ending with `/`) or of its main file."""

    name: str
    files: list[ScannedEntry] = field(default_factory=list)


def hold_back_busy_stores(scan: RootScan, now_ns: int) -> list[MultiFileStore]:
    """Remove every store that is being written from a scan: its captured version stays, and it is reported. Return the
    other stores."""
    settled: list[MultiFileStore] = []
    for store in find_stores(scan):
        # The writer of a file chooses its time, which may be in the future.
        if all(abs(now_ns - found.key.mtime_ns) >= SETTLED_NS for found in store.files):
            settled.append(store)
            continue
        scan.held_back[store.name] = BEING_WRITTEN
        for found in store.files:
            scan.found.pop(found.native)
            if not store.name.endswith("/"):
                scan.held_back[found.native] = BEING_WRITTEN
    return settled


def find_stores(scan: RootScan) -> list[MultiFileStore]:
    """Return the stores in a scan, recognised by the names of their files."""
    folders = set(_folders_of_stores(scan))
    stores: dict[str, MultiFileStore] = {}
    for name, found in scan.found.items():
        above = _folders_above(name) if folders else ()
        folder = next((f"{each}/" for each in above if f"{each}/" in folders), None)
        if folder is not None and found.kind == FILE:
            stores.setdefault(folder, MultiFileStore(folder)).files.append(found)
        elif name.endswith(_LOG) and name.removesuffix(_LOG) in scan.found:
            main = name.removesuffix(_LOG)
            stores[main] = MultiFileStore(main, [scan.found[main], found])
    return list(stores.values())


def _folders_of_stores(scan: RootScan) -> Iterator[str]:
    for name in scan.found:
        folder, _, last = name.rpartition("/")
        if last.startswith("MANIFEST-") and f"{folder}/CURRENT" in scan.found:
            yield f"{folder}/"
        if ".lance/" in name:
            yield f"{name.partition('.lance/')[0]}.lance/"


def _folders_above(name: str) -> Iterator[str]:
    folder = name.rpartition("/")[0]
    while folder:
        yield folder
        folder = folder.rpartition("/")[0]


def is_unchanged(files: FileOperations, store: MultiFileStore) -> bool:
    """Return whether a store is as it was scanned; False for one that cannot be examined."""
    try:
        return all(found.has_log or stat_key_of(files.lstat(found.real)) == found.key for found in store.files)
    except OSError:
        return False
