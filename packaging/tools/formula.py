"""The formula for Homebrew: the template, with the release's address and one resource for each locked dependency.

    python packaging/tools/formula.py --homepage URL --release URL --index URL dist/agent_lifeboat-0.1.0.tar.gz

`--release` is where the source distribution will lie, `--index` a package index (PEP 503 with JSON, PEP 691). No
address is written in this repository: the person who releases gives them. A file of the index is taken only if
its SHA-256 is in requirements.lock.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import urllib.parse
import urllib.request
from pathlib import Path

from packaging.markers import Marker

import locked
from facts import ROOT

PYTHON = "3.13"
_TEMPLATE = ROOT / "packaging" / "homebrew" / "agent-lifeboat.rb"
_MAC = {
    "python_version": PYTHON,
    "python_full_version": f"{PYTHON}.0",
    "sys_platform": "darwin",
    "platform_system": "Darwin",
    "os_name": "posix",
    "platform_python_implementation": "CPython",
    "implementation_name": "cpython",
}
_JSON = "application/vnd.pypi.simple.v1+json"


class NotInIndex(Exception):
    """The index has no source distribution that the lock names."""


def render(sdist: Path, *, homepage: str, release: str, index: str, lock: Path = ROOT / "requirements.lock") -> str:
    """The formula. Raises NotInIndex."""
    values = {
        "HOMEPAGE": homepage,
        "URL": f"{release.rstrip('/')}/{sdist.name}",
        "SHA256": hashlib.sha256(sdist.read_bytes()).hexdigest(),
        "PYTHON": PYTHON,
        "RESOURCES": "\n".join(_resource(each, index) for each in wanted(lock)),
    }
    text = _TEMPLATE.read_text(encoding="utf-8").partition("\n")[2]
    for name, value in values.items():
        text = text.replace(f"@{name}@", value)
    return text


def wanted(lock: Path) -> list[locked.Locked]:
    """What Lifeboat needs on a Mac."""
    return [each for each in locked.needed(lock) if not each.marker or Marker(each.marker).evaluate(_MAC)]


def _resource(each: locked.Locked, index: str) -> str:
    address, digest = _source_of(each, index)
    return f'  resource "{each.name}" do\n    url "{address}"\n    sha256 "{digest}"\n  end\n'


def _source_of(each: locked.Locked, index: str) -> tuple[str, str]:
    """(address, SHA-256) of the source distribution of exactly this version."""
    page = f"{index.rstrip('/')}/{each.name}/"
    with urllib.request.urlopen(urllib.request.Request(page, headers={"Accept": _JSON}), timeout=60) as answer:
        files = json.load(answer)["files"]
    for file in files:
        digest = file["hashes"].get("sha256")
        if digest in each.hashes and re.search(r"\.(tar\.gz|tar\.bz2|zip)$", file["filename"]):
            return urllib.parse.urljoin(page, file["url"]), digest
    raise NotInIndex(f"{each.name} {each.version}: no source distribution with a hash of the lock")


def main() -> None:
    """Write the formula beside the source distribution."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("sdist", type=Path)
    for name in ("homepage", "release", "index"):
        parser.add_argument(f"--{name}", required=True)
    given = parser.parse_args()
    text = render(given.sdist, homepage=given.homepage, release=given.release, index=given.index)
    given.sdist.with_name(_TEMPLATE.name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
