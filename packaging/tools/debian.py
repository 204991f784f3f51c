"""The Debian package: a separate environment, the program, the user's service, manual page and completions."""

from __future__ import annotations

import email.utils
import gzip
import hashlib
import os
import shutil
import stat
import subprocess
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from email.parser import HeaderParser
from pathlib import Path
from string import Template

import environment
from facts import ROOT, NotPossible, changelog, debian_version, version

NAME = "agent-lifeboat"
INTERPRETER = Path("/usr/bin/python3")
_TEMPLATES = ROOT / "packaging" / "debian"
_SCRIPTS = ("postinst", "prerm", "postrm")
_MAINTAINER = "Agent Lifeboat contributors <agent-lifeboat@localhost.invalid>"
"""Who distributes packages puts an address that answers into LIFEBOAT_MAINTAINER."""
_RUN = "from lifeboat_cli import main; main()"
_UNIT = f"""
from lifeboat_daemon.units.systemd import render_unit
from lifeboat_daemon.units.service_unit import UnitProgram
print(render_unit(UnitProgram(("/{environment.PLACE}/bin/python3", "-I", "-m", "lifeboat_daemon.service", "--wait"))),
end="")
"""
_SHELLS = {
    "bash": "usr/share/bash-completion/completions/lifeboat",
    "zsh": "usr/share/zsh/vendor-completions/_lifeboat",
    "fish": "usr/share/fish/vendor_completions.d/lifeboat.fish",
}


@dataclass(frozen=True, slots=True)
class Base:
    """An environment with all dependencies and without Lifeboat: packages of several versions begin with it."""

    stage: Path
    minor: str


def prepare(stage: Path, tree: Path, moment: int) -> Base:
    """Install what Lifeboat depends on under `stage`, compiled. Raises NotPossible on what is no Debian."""
    minor = _minor()
    interpreter = INTERPRETER.with_name(f"python{minor}")
    folder = environment.make(stage, interpreter, minor, tree / "requirements.lock")
    environment.compile_all(stage, folder, moment)
    return Base(stage, minor)


def _minor() -> str:
    missing = [name for name in ("dpkg-deb", "dpkg") if shutil.which(name) is None]
    if missing or not INTERPRETER.exists():
        raise NotPossible("no Debian package: this is not a Debian system")
    text = "import sys; print('%d.%d' % sys.version_info[:2])"
    minor = subprocess.run([INTERPRETER, "-I", "-c", text], check=True, capture_output=True, text=True).stdout.strip()
    if tuple(map(int, minor.split("."))) < (3, 11):
        raise NotPossible(f"no Debian package: {INTERPRETER} is Python {minor}, 3.11 is required")
    return minor


def build(base: Base, wheel: Path, tree: Path, work: Path, target: Path, moment: int, *, quick: bool = False) -> Path:
    """Make the package of a wheel; returns it. `work` is a folder to use up; `quick` compresses little, for tests."""
    stage = work / "stage"
    shutil.copytree(base.stage, stage, symlinks=True)
    folder = stage / environment.PLACE
    environment.install(folder, str(wheel))
    environment.add_launcher(folder)
    _add_surroundings(stage, folder, tree, moment)
    environment.compile_all(stage, folder, moment)
    environment.link_relative(folder)
    _add_control(stage, folder, base.minor, tree)
    _settle(stage, moment)
    package = target / f"{NAME}_{debian_version(version(tree))}_{_architecture()}.deb"
    level = ["-Zgzip", "-z1"] if quick else ["-Zxz", "-z6"]
    command = ["dpkg-deb", "--root-owner-group", *level, "--build", str(stage), str(package)]
    surroundings = {**os.environ, "SOURCE_DATE_EPOCH": str(moment)}
    subprocess.run(command, env=surroundings, check=True, stdout=subprocess.DEVNULL)
    return package


def _architecture() -> str:
    command = ["dpkg", "--print-architecture"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


# What lies around the environment ---------------------------------------------------------------------------------


def _add_surroundings(stage: Path, folder: Path, tree: Path, moment: int) -> None:
    program = stage / "usr/bin/lifeboat"
    program.parent.mkdir(parents=True)
    program.symlink_to("../lib/agent-lifeboat/bin/lifeboat")
    day = email.utils.formatdate(moment)
    iso = subprocess.run(["date", "-u", "-d", f"@{moment}", "+%F"], check=True, capture_output=True, text=True).stdout
    manual = environment.ask(folder, str(ROOT / "packaging/tools/manual.py"), iso.strip(), version(tree))
    _write_packed(stage / "usr/share/man/man1/lifeboat.1.gz", manual)
    for shell, place in _SHELLS.items():
        _write(stage / place, environment.ask(folder, "-c", _RUN, "completion", shell))
    _write(stage / "usr/lib/systemd/user/lifeboat.service", environment.ask(folder, "-c", _UNIT))
    documents = stage / "usr/share/doc" / NAME
    _write_packed(documents / "changelog.gz", _changelog(tree, day))
    _write(documents / "copyright", _copyright(folder, tree))


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text if text.endswith("\n") else f"{text}\n", encoding="utf-8")


def _write_packed(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(text.encode(), 9, mtime=0))


def _maintainer() -> str:
    return os.environ.get("LIFEBOAT_MAINTAINER", _MAINTAINER)


def _changelog(tree: Path, day: str) -> str:
    """The changelog in Debian's form. What is not released yet stands under the version that is being made."""
    parts = []
    for section in changelog(tree):
        number, suite = (section.version, "stable") if section.day else (version(tree), "UNRELEASED")
        parts.append(f"{NAME} ({debian_version(number)}) {suite}; urgency=medium\n")
        for point in section.points:
            parts.append(
                textwrap.fill(point, 78, initial_indent="  * ", subsequent_indent="    ", break_long_words=False)
            )
        parts.append(f"\n -- {_maintainer()}  {_day_of(section.day) or day}\n")
    return "\n".join(parts)


def _day_of(day: str | None) -> str | None:
    if day is None:
        return None
    command = ["date", "-u", "-R", "-d", day]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def _copyright(folder: Path, tree: Path) -> str:
    """Our licence, and the licence statement of each distribution in the package."""
    licence = (tree / "LICENSE").read_text(encoding="utf-8").splitlines()
    holder = next(line for line in licence if line.startswith("Copyright")).removeprefix("Copyright (c) ")
    body = "\n".join(f" {line}" if line else " ." for line in licence[licence.index(next(filter(_permits, licence))) :])
    text = Template((_TEMPLATES / "copyright").read_text()).substitute(holder=holder)
    return f"{text}{body}\n" + "".join(f"\n{stanza}" for stanza in _foreign(folder))


def _title_of_licence(info: Path) -> str:
    """How the text begins that a distribution brings along, where it says nothing else; empty where it brings none."""
    texts = sorted((info / "licenses").glob("*")) if (info / "licenses").is_dir() else []
    return next((line.strip() for text in texts for line in text.read_text("utf-8").splitlines() if line.strip()), "")


def _permits(line: str) -> bool:
    return line.startswith("Permission")


def _foreign(folder: Path) -> Iterator[str]:
    for info in sorted(folder.glob("lib/*/site-packages/*.dist-info"), key=lambda path: path.name.lower()):
        metadata = HeaderParser().parsestr((info / "METADATA").read_text(encoding="utf-8"))
        if metadata["Name"] == NAME:
            continue
        kinds = [
            line.rpartition(" :: ")[2] for line in metadata.get_all("Classifier", []) if line.startswith("License")
        ]
        licence = metadata["License-Expression"] or ", ".join(kinds) or (metadata["License"] or "").split("\n")[0]
        licence = licence or _title_of_licence(info)
        assert licence, f"{info.name} states no licence"
        yield f"Comment: {metadata['Name']} {metadata['Version']}, in /{environment.PLACE}: {licence}\n"


# The control archive ------------------------------------------------------------------------------------------------


def _add_control(stage: Path, folder: Path, minor: str, tree: Path) -> None:
    control = stage / "DEBIAN"
    control.mkdir()
    text = Template((_TEMPLATES / "control").read_text()).substitute(
        version=debian_version(version(tree)),
        architecture=_architecture(),
        maintainer=_maintainer(),
        size=sum(-(-path.lstat().st_size // 1024) for path in _files(stage)),
        depends=", ".join(_depends(folder, minor)),
    )
    _write(control / "control", text)
    sums = [f"{hashlib.md5(path.read_bytes()).hexdigest()}  {path.relative_to(stage)}" for path in _files(stage)]
    _write(control / "md5sums", "\n".join(sums))
    for name in _SCRIPTS:
        shutil.copyfile(_TEMPLATES / name, control / name)
        (control / name).chmod(0o755)


def _depends(folder: Path, minor: str) -> list[str]:
    """Binary modules are built for one minor release of Python, so the package is."""
    major, number = map(int, minor.split("."))
    python = [f"python3 (>= {minor})", f"python3 (<< {major}.{number + 1})", f"python{minor}"]
    return [*python, f"libc6 (>= {environment.glibc(folder)})", "libgcc-s1", "libstdc++6"]


def _files(stage: Path) -> list[Path]:
    """Regular files of what is installed, sorted."""
    found = [path for path in stage.rglob("*") if path.is_file() and not path.is_symlink()]
    return sorted(path for path in found if "DEBIAN" not in path.relative_to(stage).parts[:1])


def _settle(stage: Path, moment: int) -> None:
    """One time and the modes of a system for everything."""
    for path in [stage, *stage.rglob("*")]:
        if not path.is_symlink():
            runs = path.is_dir() or (path.stat().st_mode & stat.S_IXUSR and path.parent.name in ("bin", "DEBIAN"))
            path.chmod(0o755 if runs else 0o644)
        os.utime(path, (moment, moment), follow_symlinks=False)


def contents(package: Path) -> dict[str, tuple[str, str]]:
    """What a package installs: {path: (mode as `ls` writes it, owner)}."""
    listing = subprocess.run(
        ["dpkg-deb", "--contents", str(package)], check=True, capture_output=True, text=True
    ).stdout
    found = {}
    for line in listing.splitlines():
        mode, owner, _, _, _, path = line.split(maxsplit=5)
        found[path.split(" -> ")[0].removeprefix("./")] = (mode, owner)
    del found[""]
    return found


def lint(package: Path) -> list[str]:
    """Complaints of lintian, `tag: where` each, without those that a package with its own environment has to raise."""
    command = ["lintian", "--allow-root", "--no-cfg", "--tag-display-limit", "0", "--fail-on", "none", str(package)]
    output = subprocess.run(command, capture_output=True, text=True).stdout
    return [line for line in output.splitlines() if line.startswith(("E:", "W:"))]


def facts_of(package: Path) -> dict[str, str]:
    """The control fields of a package."""
    text = subprocess.run(["dpkg-deb", "--field", str(package)], check=True, capture_output=True, text=True).stdout
    return dict(HeaderParser().parsestr(text).items())


__all__ = ["Base", "build", "contents", "facts_of", "lint", "prepare"]
