"""The Debian package from outside: its fields, what it installs, and that nothing of the build is left in it."""

from __future__ import annotations

import gzip
import hashlib
import marshal
import os
import shutil
import subprocess
from pathlib import Path
from types import CodeType

import pytest

import debian
import distributions
import environment
import locked
from facts import debian_version, version

from .conftest import PREVIOUS, Built

_PLACE = f"{environment.PLACE}/"
_EXECUTABLE = {f"{_PLACE}bin/lifeboat"}
_LINKS = {f"{_PLACE}bin/python3", "usr/bin/lifeboat"}
_OF_ITS_KIND = {
    "package-installs-python-pycache-dir": "users cannot write the caches, and without them each start is slow",
    "unstripped-binary-or-object": "binary modules are as their authors released them: their hashes are in the lock",
    "embedded-library": "likewise",
    "wrong-path-for-interpreter": "the program has a Python environment of its own",
    "unusual-interpreter": "a script of a dependency that nobody runs",
}


@pytest.fixture(scope="session")
def unpacked(current: Built, work: Path) -> Path:
    folder = work / "unpacked"
    subprocess.run(["dpkg-deb", "--raw-extract", str(current.debian), str(folder)], check=True)
    return folder


def test_the_fields_say_what_it_is_and_needs(current: Built, dependencies: debian.Base) -> None:
    fields = debian.facts_of(current.debian)
    number = debian_version(version(current.tree))
    assert (fields["Package"], fields["Version"]) == ("agent-lifeboat", number)
    assert current.debian.name == f"agent-lifeboat_{number}_{fields['Architecture']}.deb"
    needs = fields["Depends"].split(", ")
    major, minor = dependencies.minor.split(".")
    assert {f"python3 (>= {major}.{minor})", f"python3 (<< {major}.{int(minor) + 1})", "libgcc-s1"} <= set(needs)
    assert any(need.startswith("libc6 (>= 2.") for need in needs)
    assert int(fields["Installed-Size"]) > 20_000


def test_one_version_stands_everywhere(current: Built, unpacked: Path) -> None:
    number = version(current.tree)
    infos = list(unpacked.glob(f"{_PLACE}lib/*/site-packages/agent_lifeboat-*.dist-info"))
    assert [info.name for info in infos] == [f"agent_lifeboat-{number}.dist-info"]
    manual = gzip.decompress((unpacked / "usr/share/man/man1/lifeboat.1.gz").read_bytes()).decode()
    assert f"Agent Lifeboat {number}" in manual.splitlines()[0]
    changes = gzip.decompress((unpacked / "usr/share/doc/agent-lifeboat/changelog.gz").read_bytes()).decode()
    assert changes.startswith(f"agent-lifeboat ({debian_version(number)})")
    assert version(current.tree) in current.wheel.name and version(current.tree) in current.sdist.name


def test_the_previous_package_is_older(previous: Built, current: Built) -> None:
    older, newer = (debian.facts_of(built.debian)["Version"] for built in (previous, current))
    assert older == PREVIOUS
    subprocess.run(["dpkg", "--compare-versions", older, "lt", newer], check=True)


def test_everything_belongs_to_root_and_has_the_modes_of_a_system(current: Built) -> None:
    for path, (mode, owner) in debian.contents(current.debian).items():
        assert owner == "root/root", path
        wanted = "drwxr-xr-x" if path.endswith("/") else "-rwxr-xr-x" if path in _EXECUTABLE else "-rw-r--r--"
        assert mode == ("lrwxrwxrwx" if path in _LINKS else wanted), path


def test_it_installs_what_a_program_of_debian_has(current: Built) -> None:
    outside = {path for path in debian.contents(current.debian) if not path.startswith(_PLACE) and path[-1] != "/"}
    assert outside == {
        "usr/bin/lifeboat",
        "usr/lib/systemd/user/lifeboat.service",
        "usr/share/man/man1/lifeboat.1.gz",
        "usr/share/bash-completion/completions/lifeboat",
        "usr/share/zsh/vendor-completions/_lifeboat",
        "usr/share/fish/vendor_completions.d/lifeboat.fish",
        "usr/share/doc/agent-lifeboat/changelog.gz",
        "usr/share/doc/agent-lifeboat/copyright",
    }


def test_the_environment_holds_what_the_lock_names_and_no_tool_that_builds(unpacked: Path) -> None:
    infos = {info.name.partition("-")[0].lower().replace("_", "-") for info in unpacked.rglob("*.dist-info")}
    names = {name.replace(".", "-") for name in infos}
    there = {each.name for each in locked.needed() if "win32" not in each.marker}
    assert names == there | {"agent-lifeboat"}
    assert {path.name for path in (unpacked / _PLACE / "bin").iterdir()} == {"lifeboat", "python3"}


def test_no_file_knows_where_it_was_built(unpacked: Path, work: Path) -> None:
    """Neither a script's first line, nor a cache of Python, nor a note of pip."""
    traces = [str(path).encode() for path in (work, distributions.ROOT, Path.home()) if len(path.parts) > 2]
    for path in unpacked.rglob("*"):
        if path.is_file() and not path.is_symlink():
            body = path.read_bytes()
            assert not [trace for trace in traces if trace in body], path
    assert not list(unpacked.rglob("direct_url.json"))
    assert os.readlink(unpacked / "usr/bin/lifeboat") == "../lib/agent-lifeboat/bin/lifeboat"
    assert not os.readlink(unpacked / _PLACE / "bin/python3").startswith("/")


def test_every_module_is_compiled_for_where_it_will_lie(unpacked: Path, moment: int) -> None:
    sources = [path for path in (unpacked / _PLACE).rglob("*.py") if "lifeboat_core" in path.parts]
    assert len(sources) > 100
    for source in sources:
        (cache,) = source.parent.glob(f"__pycache__/{source.stem}.cpython-*.pyc")
        body = cache.read_bytes()
        assert int.from_bytes(body[4:8], "little") == 0, "validated by time and size"
        assert int.from_bytes(body[8:12], "little") == int(source.stat().st_mtime) == moment
        code = marshal.loads(body[16:])
        assert isinstance(code, CodeType) and code.co_filename == f"/{source.relative_to(unpacked)}"


def test_the_records_of_what_is_installed_are_true(unpacked: Path) -> None:
    for record in unpacked.rglob("*.dist-info/RECORD"):
        for line in record.read_text().splitlines():
            name = line.rsplit(",", 2)[0].strip('"')
            assert (record.parent.parent / name).exists(), f"{record.parent.name}: {name}"


def test_the_sums_are_those_of_the_files(unpacked: Path) -> None:
    lines = (unpacked / "DEBIAN/md5sums").read_text().splitlines()
    listed = {name: digest for digest, name in (line.split("  ", 1) for line in lines)}
    there = [
        path for path in unpacked.rglob("*") if path.is_file() and not path.is_symlink() and "DEBIAN" not in path.parts
    ]
    assert listed == {str(path.relative_to(unpacked)): hashlib.md5(path.read_bytes()).hexdigest() for path in there}


def test_the_service_is_the_packaged_program_and_is_not_enabled(unpacked: Path) -> None:
    unit = (unpacked / "usr/lib/systemd/user/lifeboat.service").read_text()
    assert f"ExecStart=/{_PLACE}bin/python3 -I -m lifeboat_daemon.service" in unit
    assert "@" not in "".join(line for line in unit.splitlines() if not line.startswith("#"))
    assert not list(unpacked.rglob("*.wants"))


def test_its_copyright_names_every_project_in_it(unpacked: Path) -> None:
    text = (unpacked / "usr/share/doc/agent-lifeboat/copyright").read_text()
    assert "License: MIT" in text and "Permission is hereby granted" in text
    for info in unpacked.rglob("*.dist-info"):
        name, number = info.name.removesuffix(".dist-info").split("-")[:2]
        if name != "agent_lifeboat":
            assert f" {number}, in /usr/lib/agent-lifeboat: " in text, name


def test_two_builds_give_the_same_bytes(current: Built, moment: int, tmp_path: Path) -> None:
    """Everything anew, dependencies included."""
    anew = debian.prepare(tmp_path / "dependencies", current.tree, moment)
    package = debian.build(anew, current.wheel, current.tree, tmp_path / "work", tmp_path, moment, quick=True)
    assert package.read_bytes() == current.debian.read_bytes()


def test_lintian_finds_nothing_but_what_an_environment_of_its_own_brings(current: Built) -> None:
    if shutil.which("lintian") is None:
        pytest.skip("needs lintian")
    found = debian.lint(current.debian)
    assert [line for line in found if line.split(": ", 2)[2].split()[0] not in _OF_ITS_KIND] == []
