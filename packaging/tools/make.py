"""`make package`: everything that a release consists of, in dist/, with SHA256SUMS.

    python packaging/tools/make.py [--to FOLDER] [--release]

What cannot be made on this system is left out, and said. `--release` refuses a tree that is not ready for one.
"""

from __future__ import annotations

import argparse
import hashlib
import shutil
import sys
import tempfile
from pathlib import Path

import debian
import distributions
import units
from facts import ROOT, NotPossible, epoch, unready


def make(target: Path) -> list[Path]:
    """Make all packages into `target`, which is emptied first; returns them."""
    moment = epoch()
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    with tempfile.TemporaryDirectory(prefix="lifeboat-package-") as name:
        work = Path(name)
        tree = distributions.copy_tree(work / "tree")
        wheel, sdist = distributions.build(tree, target, moment)
        wrong = distributions.findings(wheel, sdist, tree)
        if wrong:
            raise RuntimeError("\n".join(wrong))
        made = [wheel, sdist, *units.write(target)]
        try:
            base = debian.prepare(work / "base", tree, moment)
            made.append(debian.build(base, wheel, tree, work / "debian", target, moment))
        except NotPossible as error:
            print(error)
    return made


def write_sums(target: Path, made: list[Path]) -> Path:
    """SHA256SUMS as `sha256sum --check` reads it."""
    lines = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in sorted(made)]
    sums = target / "SHA256SUMS"
    sums.write_text("".join(lines))
    return sums


def main() -> int:
    """Make, and say what was made."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--to", type=Path, default=ROOT / "dist")
    parser.add_argument("--release", action="store_true", help="refuse a tree that is not ready to be released")
    given = parser.parse_args()
    reasons = unready() if given.release else []
    if reasons:
        print("not ready for a release:", *reasons, sep="\n  ", file=sys.stderr)
        return 3
    try:
        made = make(given.to)
    except NotPossible as error:
        print(error, file=sys.stderr)
        return 1
    for path in [*made, write_sums(given.to, made)]:
        print(f"{path.stat().st_size:>12,}  {path.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
