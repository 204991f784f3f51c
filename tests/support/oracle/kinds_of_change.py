"""Kinds of change in a round, with names, so that each can be tried alone."""

from __future__ import annotations

KINDS = {
    "notes": "files of memory change, come and go",
    "kind changes": "a file, a link, a folder, a database or nothing takes the place of another",
    "modes": "files get any of the nine permission bits",
    "folder modes": "folders get any of the nine permission bits",
    "links": "links to files, to folders and to nothing",
    "links out of the workspace": "links that no restore makes, and every restore names",
    "links to themselves": "a link names itself",
    "empty folders": "folders without a file",
    "databases at rest": "SQLite files that no program has open",
    "live databases": "SQLite files in WAL mode with rows that are in the log alone",
    "large files": "files over `artifacts.threshold`",
    "shrinking files": "a file that was large becomes small, or grows again",
    "odd names": "names that are no UTF-8, or mean something elsewhere",
    "same mtime": "another content with the same size and modification time",
    "only mtime": "another modification time with the same content",
    "what is never kept": "caches, `.git`, FIFOs",
    "secrets": "an environment file with a credential, a new credential now and then",
    "quoted secrets": "a known credential stands in a note",
    "restores": "an older sequence is restored in place, and sometimes taken back",
    "purges": "a text is purged here and in folder remotes",
    "purges at an endpoint": "a text is purged while an endpoint has it, whose owner has not confirmed it",
    "purges of like files": "after a purge, another file of the same name is purged",
    "purges of databases": "a text is purged that a row of an SQLite file holds, which then changes",
    "thinning": "old sequences are dropped",
    "kills": "captures, pushes, restores and thinning end at a random step",
    "faults": "a read of the workspace or a write in the home is refused",
}
"""Name of each kind, with its effect."""
