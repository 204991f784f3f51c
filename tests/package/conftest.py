"""The packages under test: of this tree, and, as the previous release, of the same tree under an older version."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import debian
import distributions
from facts import NotPossible, epoch
from support.package import clean_root
from support.package.clean_root import Root

PREVIOUS = "0.0.9"


@dataclass(frozen=True, slots=True)
class Built:
    """What was made of one tree."""

    tree: Path
    wheel: Path
    sdist: Path
    debian: Path


@pytest.fixture(scope="session")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("packages")


@pytest.fixture(scope="session")
def tree(work: Path) -> Path:
    """A copy: the tree of who runs the tests may change while they run."""
    return distributions.copy_tree(work / "tree")


@pytest.fixture(scope="session")
def moment() -> int:
    """The time of the packages, in seconds: one for all, also when somebody commits meanwhile."""
    return epoch()


@pytest.fixture(scope="session")
def distributed(tree: Path, work: Path, moment: int) -> tuple[Path, Path]:
    """(wheel, source distribution)."""
    return distributions.build(tree, work / "distributed", moment)


@pytest.fixture(scope="session")
def dependencies(tree: Path, work: Path, moment: int) -> debian.Base:
    try:
        return debian.prepare(work / "dependencies", tree, moment)
    except NotPossible as error:
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def current(tree: Path, distributed: tuple[Path, Path], dependencies: debian.Base, work: Path, moment: int) -> Built:
    wheel, sdist = distributed
    package = debian.build(dependencies, wheel, tree, work / "current", wheel.parent, moment, quick=True)
    return Built(tree, wheel, sdist, package)


@pytest.fixture(scope="session")
def previous(dependencies: debian.Base, tree: Path, work: Path, moment: int) -> Built:
    """As of a day before."""
    day_before = moment - 24 * 3600
    older = shutil.copytree(tree, work / "previous-tree")
    distributions.set_version(older, PREVIOUS)
    wheel, sdist = distributions.build(older, work / "previous-distributed", day_before)
    package = debian.build(dependencies, wheel, older, work / "previous", wheel.parent, day_before, quick=True)
    return Built(older, wheel, sdist, package)


@pytest.fixture
def root(tmp_path: Path) -> Iterator[Root]:
    reason = clean_root.reason_against()
    if reason:
        pytest.skip(reason)
    with clean_root.entered(tmp_path) as opened:
        yield opened
