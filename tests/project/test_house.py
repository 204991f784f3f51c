"""The house: where things lie, who imports whom, and what the lower layers never load."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
from pathlib import Path

import packaging.version
import pytest

from support.packages import HEADLESS, PACKAGES
from support.paths import ROOT

TOP_FOLDERS = {*PACKAGES, "packaging", "tests", "benchmarks", "docs"}
# What only the dashboard, a worker or a command may load: a daemon that imports one of these is no small daemon.
HEAVY = ("textual", "httpx", "keyring", "pydantic", "sqlalchemy")


def _modules(package: str) -> list[str]:
    folder = next(name for name, found in PACKAGES.items() if found == package)
    base = ROOT / folder
    names = [path.relative_to(base).with_suffix("").parts for path in sorted((base / package).rglob("*.py"))]
    return [".".join(parts[:-1] if parts[-1] == "__init__" else parts) for parts in names if parts[-1] != "__main__"]


def _tracked_folders() -> set[str]:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return {line.split("/")[0] for line in listed.splitlines() if "/" in line and not line.startswith(".")}


def test_packaging_is_no_python_package_and_never_hides_the_real_one() -> None:
    assert not list((ROOT / "packaging").rglob("__init__.py"))
    assert Path(packaging.version.__file__).is_relative_to(sysconfig.get_path("purelib"))


def test_tests_are_no_python_packages() -> None:
    assert not list((ROOT / "tests").rglob("__init__.py"))


def test_every_top_level_folder_is_one_the_architecture_names() -> None:
    if not (ROOT / ".git").exists():
        pytest.skip("not a checkout: the list of tracked files is not here")
    assert _tracked_folders() <= TOP_FOLDERS


@pytest.mark.parametrize(("folder", "package"), PACKAGES.items())
def test_every_package_says_that_it_is_typed(folder: str, package: str) -> None:
    assert (ROOT / folder / package / "py.typed").is_file()


@pytest.mark.parametrize("package", HEADLESS)
def test_a_headless_package_never_loads_the_dashboard_the_network_or_the_keyring(package: str) -> None:
    modules = _modules(package)
    assert modules, f"{package} has no modules"
    program = (
        "import importlib, sys\n"
        f"for name in {modules!r}: importlib.import_module(name)\n"
        f"print(*[name for name in {HEAVY!r} if name in sys.modules])\n"
    )
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert loaded.stdout.split() == []
