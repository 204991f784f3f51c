"""Names from which keys, fingerprints, ids and signatures are derived never change.

A changed name is no error when it runs: it gives other keys, so that what earlier releases wrote can no longer be read,
found again or checked.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from support.paths import ROOT

PACKAGES = ("adapters", "alf", "cli", "core", "daemon", "endpoint", "formats", "keys", "tui", "vault")

KEPT = {
    "agent pair",
    "lifeboat credential 1\n",
    "lifeboat former key 1\n",
    "lifeboat key source ",
    "lifeboat lock",
    "lifeboat mark",
    "lifeboat rates",
    "lifeboat state 1\n",
    "lifeboat transfer 1\x00",
    "lifeboat user key 1: ed25519, certifies devices",
    "lifeboat user key 1: x25519, wraps agents' keys",
    "lifeboat wrapped",
    "lifeboat writer",
    "lifeboat-agent",
    "lifeboat-id",
    "lifeboat-key-id",
    "lifeboat-kit",
    "lifeboat-log",
    "lifeboat-pair",
    "lifeboat-print",
    "lifeboat-user",
    "machine",
    "principal_context:",
    "prints of ",
    "redaction",
    "sealed log",
    "sequence",
}
"""A name may be added. One may go only if nothing that was ever written needs it."""


def test_no_name_of_a_derivation_was_changed_or_forgotten_here() -> None:
    assert set(_names_of_derivations()) == KEPT


def _names_of_derivations() -> Iterator[str]:
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text())):
                yield from _named(node)


def _named(node: ast.AST) -> Iterator[str]:
    """Yield the names in `person=...`, in constants called CONTEXT or PERSON, in what is hashed behind bytes that begin
    with "lifeboat", and in the subjects of fingerprints."""
    match node:
        case ast.keyword(arg="person", value=ast.Constant(value=bytes(name))):
            yield name.decode()
        case ast.Assign(targets=[ast.Name(id=target)], value=ast.Constant(value=bytes() | str() as name)):
            if target.endswith(("CONTEXT", "PERSON")) and "{" not in str(name):
                yield name.decode() if isinstance(name, bytes) else name
        case ast.Constant(value=bytes(name)) if name.startswith(b"lifeboat") and name.endswith(b"\n"):
            yield name.decode()
        case ast.JoinedStr(values=[ast.Constant(value=str(name)), *_]) if name == "prints of ":
            yield name
        case _:
            pass
