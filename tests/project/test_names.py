"""Names of the product that a reader searches for."""

import ast
from collections import defaultdict

from support.packages import PACKAGES
from support.paths import ROOT

MIRRORED = "lifeboat_core/documents"
"""The shapes of JSON documents: each has the name of what is written."""


def test_a_class_name_is_unique_in_the_product() -> None:
    places = defaultdict(list)
    for folder in PACKAGES:
        for path in (ROOT / folder).rglob("*.py"):
            if MIRRORED in path.as_posix():
                continue
            for node in ast.walk(ast.parse(path.read_bytes())):
                if isinstance(node, ast.ClassDef):
                    places[node.name].append(path.relative_to(ROOT).as_posix())
    assert {name: found for name, found in places.items() if len(found) > 1} == {}
