"""Random changes of a workspace, like those of a user and an agent: every kind of file in every place."""

from __future__ import annotations

import os
import random
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

PLACES = (
    b"MEMORY.md",
    b"USER.md",
    b"memory/2026-11-10.md",
    b"memory/2026-11-11.md",
    b"memory/projects/harbour.md",
    b"report",
    b"report/pages/one.md",
    b"plans/chart.csv",
    b"plans/old/chart.csv",
    b"film.bin",
    b"store.db",
    b"data/store.db",
    b"tool.sh",
)
"""Some paths are folders of others: a path that is a file at one time is a folder at another."""
ODD_PLACES = (
    b"memory/caf\xe9.md",
    b"caf\xc3\xa9/e\xcc\x81.md",
    b"new\nline.md",
    b"100%25.md",
    b"%41.md",
    b"A.md",
    b"a.md",
    b"manifest.json",
    b"raw/openclaw/SOUL.md",
    b"artifacts/x",
    b"lifeboat/keys.json",
    b"-rf",
    b"trail. ",
    b"d/" * 40 + b"deep.md",
    b"n" * 240,
)
NEVER_KEPT = (b".git/HEAD", b"node_modules/left/index.js", b"__pycache__/x.pyc")
"""Paths that docs/agents.md excludes."""
FILE_MODES = (0o644, 0o600, 0o755, 0o700, 0o640, 0o664, 0o440, 0o750, 0o604)
FOLDER_MODES = (0o755, 0o700, 0o750, 0o775)
TEXTS = ("harbour", "boat", "tea", "chart", "tide", "rope", "lamp", "quay", "sail", "anchor")
THRESHOLD = 100_000
"""`artifacts.threshold`."""


def is_never_kept(path: bytes) -> bool:
    return any(part in (b".git", b"node_modules", b"__pycache__") for part in path.split(b"/"))


@dataclass
class RandomWorkspace:
    """A workspace in `folder` that `change` changes. `kinds` are the possible changes (see `kinds_of_change`), `now` is
    the clock of the machine. `live` are open databases by path. Each place keeps its first kind without "kind
    changes"."""

    folder: Path
    chance: random.Random
    kinds: frozenset[str]
    now: Callable[[], datetime]
    live: dict[bytes, sqlite3.Connection] = field(default_factory=dict)
    _kind_of: dict[bytes, str] = field(default_factory=dict)
    _count: int = 0

    def close(self) -> None:
        """Close every open database."""
        while self.live:
            self.live.popitem()[1].close()

    def change(self) -> str:
        """Make a change, and return its description."""
        place = self.chance.choice(self._places())
        make = self._ways()[self._kind_for(place)]
        if self.chance.random() < 0.2 and place != b"MEMORY.md":
            self._clear(place)
            return f"remove {place!r}"
        if self.chance.random() < 0.3 and (said := self._touch(place)):
            return said
        self._make_room(place)
        make(place)
        return f"{make.__name__.strip('_')} {place!r}"

    def finish(self) -> None:
        """Remove empty folders unless they are wanted."""
        if "empty folders" in self.kinds:
            return
        for folder, _, _ in os.walk(os.fsencode(self.folder), topdown=False):
            if folder != os.fsencode(self.folder) and not os.listdir(folder):
                os.rmdir(folder)

    def write(self, place: bytes, body: bytes, mode: int | None = None) -> None:
        """Write a file with a time so old that no capture reads it again because of its age."""
        self._make_room(place)
        path = self._path(place)
        with open(path, "wb") as stream:
            stream.write(body)
        if mode is not None:
            os.chmod(path, mode)
        self._age(path)

    # Kinds per place --------------------------------------------------------------------------------------------

    def _places(self) -> list[bytes]:
        found = [place for place in PLACES if "kind changes" in self.kinds or not place.startswith(b"report/")]
        found += ODD_PLACES if "odd names" in self.kinds else ()
        return found + ([*NEVER_KEPT] if "what is never kept" in self.kinds else [])

    def _ways(self) -> dict[str, Callable[[bytes], None]]:
        return {
            "file": self._file,
            "note": self._note,
            "link": self._link,
            "folder": self._folder,
            "empty": self._empty_folder,
            "large": self._large,
            "database": self._database,
            "live": self._live_database,
            "fifo": self._fifo,
        }

    def _kind_for(self, place: bytes) -> str:
        wanted = {
            "note": "notes",
            "link": "links",
            "empty": "empty folders",
            "large": "large files",
            "database": "databases at rest",
            "live": "live databases",
            "fifo": "what is never kept",
        }
        possible = ["file", *(kind for kind, name in wanted.items() if name in self.kinds)]
        if b"/" in place and "fifo" in possible:
            possible.remove("fifo")  # a restore keeps a folder that contains one
        if place in (b"MEMORY.md", b"USER.md"):
            return "note" if "note" in possible else "file"
        if is_never_kept(place):
            return "file"
        if "kind changes" in self.kinds:
            return self.chance.choice([*possible, "folder"])
        kind = self._kind_of.setdefault(place, self.chance.choice(possible))
        shrinks = kind in ("file", "large") and {"shrinking files", "large files"} <= self.kinds
        return self.chance.choice(("file", "large")) if shrinks else kind

    # Kinds of files ---------------------------------------------------------------------------------------------

    def _text(self) -> bytes:
        self._count += 1
        words = " ".join(self.chance.choices(TEXTS, k=self.chance.randrange(3, 30)))
        return f"# Note {self._count}\n\n## Part {self._count}\n\n{words}.\n".encode()

    def _note(self, place: bytes) -> None:
        body = self._text() if self.chance.random() < 0.5 else self._former(place) + b"\n" + self._text()
        self.write(place, body, self._mode())

    def _former(self, place: bytes) -> bytes:
        path = self._path(place)
        return open(path, "rb").read() if os.path.isfile(path) and not os.path.islink(path) else b""

    def _file(self, place: bytes) -> None:
        former = self._former(place)
        if "shrinking files" in self.kinds and len(former) > THRESHOLD:
            body = former[: self.chance.randrange(60_000, THRESHOLD)]
        else:
            body = self.chance.randbytes(self.chance.choice((0, 1, 40, 4_000)))
        self.write(place, body, self._mode())

    def _large(self, place: bytes) -> None:
        former = self._former(place)[: 2 * THRESHOLD]
        body = former + self.chance.randbytes(max(1_000, THRESHOLD + 1_000 - len(former)))
        self.write(place, body, self._mode())

    def _link(self, place: bytes) -> None:
        targets = [b"MEMORY.md", b"memory", b"caf\xe9", b"x" * 200]
        if "links out of the workspace" in self.kinds and place in PLACES:  # reports escape odd names
            targets += [b"../" * (place.count(b"/") + 1) + b"gone", b"/etc/hostname"]
        if "links to themselves" in self.kinds:
            targets.append(os.path.basename(place))
        self._clear(place)
        os.symlink(self.chance.choice(targets), self._path(place))

    def _empty_folder(self, place: bytes) -> None:
        self._clear(place)
        os.makedirs(self._path(place))
        self._set_folder_mode(self._path(place))

    def _folder(self, place: bytes) -> None:
        if os.path.islink(self._path(place)) or not os.path.isdir(self._path(place)):
            self._clear(place)
        os.makedirs(self._path(place), exist_ok=True)
        self._set_folder_mode(self._path(place))
        self.write(place + b"/inner.md", self._text(), self._mode())

    def _database(self, place: bytes) -> None:
        path = self._path(place)
        if not _is_database(path) or place in self.live:
            self._clear(place)
        with closing(sqlite3.connect(os.fsdecode(path))) as connection, connection:
            self._insert(connection)
        self._age(path)

    def _live_database(self, place: bytes) -> None:
        if place not in self.live:
            self._clear(place)
            connection = sqlite3.connect(os.fsdecode(self._path(place)))
            connection.execute("pragma journal_mode=wal")
            connection.execute("pragma wal_autocheckpoint=0")
            self.live[place] = connection
        with self.live[place] as connection:
            self._insert(connection)

    def _insert(self, connection: sqlite3.Connection) -> None:
        connection.execute("create table if not exists fact (id integer primary key, text)")
        rows = [(self.chance.choice(TEXTS) * self.chance.randrange(40),) for _ in range(self.chance.randrange(1, 9))]
        connection.executemany("insert into fact (text) values (?)", rows)

    def _fifo(self, place: bytes) -> None:
        self._clear(place)
        os.mkfifo(self._path(place))

    # Changes of existing files ------------------------------------------------------------------------------------

    def _touch(self, place: bytes) -> str:
        """Change a place without changing content or size; return "" if that is impossible."""
        path = self._path(place)
        if os.path.islink(path) or not os.path.isfile(path) or place in self.live:
            return ""
        ways = [name for name in ("modes", "same mtime", "only mtime") if name in self.kinds]
        way = self.chance.choice([*ways, ""])
        info = os.lstat(path)
        if way == "modes":
            os.chmod(path, self.chance.choice(FILE_MODES))
        elif way == "only mtime":
            os.utime(path, ns=(info.st_atime_ns, info.st_mtime_ns - 10**9 * self.chance.randrange(1, 9)))
        elif way == "same mtime" and info.st_size and not _is_database(path):
            os.chmod(path, info.st_mode | 0o200)
            with open(path, "r+b") as stream:
                stream.write(self.chance.randbytes(1).hex()[:1].encode())
            os.chmod(path, info.st_mode & 0o777)
            os.utime(path, ns=(info.st_atime_ns, info.st_mtime_ns))
        else:
            return ""
        return f"{way} {place!r}"

    def _mode(self) -> int | None:
        return self.chance.choice(FILE_MODES) if "modes" in self.kinds else self.chance.choice((0o644, 0o600, 0o755))

    def _set_folder_mode(self, path: bytes) -> None:
        if "folder modes" in self.kinds:
            os.chmod(path, self.chance.choice(FOLDER_MODES))

    # Making room ------------------------------------------------------------------------------------------------

    def _path(self, place: bytes) -> bytes:
        return os.fsencode(self.folder) + b"/" + place

    def _make_room(self, place: bytes) -> None:
        """Create the folders above a place, and remove a folder or link in the place."""
        parts = place.split(b"/")
        for count in range(1, len(parts)):
            above = b"/".join(parts[:count])
            if os.path.lexists(self._path(above)) and (
                os.path.islink(self._path(above)) or not os.path.isdir(self._path(above))
            ):
                self._clear(above)
        os.makedirs(os.path.dirname(self._path(place)), exist_ok=True)
        path = self._path(place)
        if os.path.lexists(path) and (os.path.islink(path) or not os.path.isfile(path) or place in self.live):
            self._clear(place)

    def _clear(self, place: bytes) -> None:
        path = self._path(place)
        for name in [name for name in self.live if name == place or name.startswith(place + b"/")]:
            self.live.pop(name).close()
        if os.path.isdir(path) and not os.path.islink(path):
            shutil.rmtree(path)
        elif os.path.lexists(path):
            os.unlink(path)
        parent = os.path.dirname(path)
        if not os.path.isdir(parent):
            self._make_room(place)

    def _age(self, path: bytes) -> None:
        moment = int(self.now().timestamp()) - 60 - self.chance.randrange(1000)
        os.utime(path, ns=(moment * 10**9, moment * 10**9 + self.chance.randrange(10**9)))


def _is_database(path: bytes) -> bool:
    if not os.path.isfile(path) or os.path.islink(path):
        return False
    with open(path, "rb") as stream:
        return stream.read(15) == b"SQLite format 3"
