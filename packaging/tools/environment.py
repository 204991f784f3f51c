"""The Python environment inside the Debian package: what the lock names, and Lifeboat, without a trace of the build.

Nothing in it is written by a tool that would note where it ran: it has no pip, no activation scripts, no launchers of
other projects. It works wherever it lies, so that manual page and completions can be made by what will be installed.
"""

from __future__ import annotations

import csv
import io
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import locked

PLACE = "usr/lib/agent-lifeboat"
_LAUNCHER = f"""#!/{PLACE}/bin/python3 -I
import sys

from lifeboat_cli import main

sys.exit(main())
"""
_NOTES_OF_PIP = ("direct_url.json", "REQUESTED", "INSTALLER")


def make(stage: Path, interpreter: Path, minor: str, requirements: Path) -> Path:
    """Create an environment in `stage`/PLACE with what a lock names; return its folder. `minor` is like "3.11"."""
    folder = stage / PLACE
    packages = site(folder, minor)
    packages.mkdir(parents=True)
    (folder / "bin").mkdir()
    (folder / "bin" / "python3").symlink_to(interpreter)
    (folder / "pyvenv.cfg").write_text(
        f"home = {interpreter.parent}\ninclude-system-site-packages = false\nversion = {minor}\n"
    )
    wanted = folder / "requirements"
    wanted.write_text(locked.text(locked.needed(requirements)))
    install(folder, "--require-hashes", "--only-binary", ":all:", "-r", str(wanted))
    wanted.unlink()
    return folder


def install(folder: Path, *arguments: str) -> None:
    """Install wheels into an environment; what they bring besides modules is not kept."""
    common = ["install", "--quiet", "--disable-pip-version-check", "--no-input", "--no-deps", "--no-compile"]
    command = [sys.executable, "-m", "pip", "--python", str(folder / "bin" / "python3"), *common, *arguments]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"pip: {done.stderr}")
    _clean(folder)


def site(folder: Path, minor: str) -> Path:
    """Where the modules of an environment lie."""
    return folder / "lib" / f"python{minor}" / "site-packages"


def _clean(folder: Path) -> None:
    for path in [*(folder / "bin").iterdir(), *folder.glob("share"), *folder.glob("include")]:
        if path.name == "python3":
            continue
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    for info in folder.glob("lib/*/site-packages/*.dist-info"):
        for name in _NOTES_OF_PIP:
            (info / name).unlink(missing_ok=True)
        _prune_record(info)


def _prune_record(info: Path) -> None:
    """Remove the rows of missing files from RECORD. Rows are sorted: pip writes them in its own order."""
    record = info / "RECORD"
    rows = [row for row in csv.reader(io.StringIO(record.read_text())) if (info.parent / row[0]).exists()]
    written = io.StringIO()
    csv.writer(written, lineterminator="\n").writerows(sorted(rows))
    record.write_text(written.getvalue())


def add_launcher(folder: Path) -> None:
    """The program. Isolated, so that PYTHONPATH and PYTHONHOME of a user do not change what root installed."""
    launcher = folder / "bin" / "lifeboat"
    launcher.write_text(_LAUNCHER)
    launcher.chmod(0o755)


def link_relative(folder: Path) -> None:
    """Let the interpreter be found from where the environment will lie: until then it has to work where it is built."""
    link = folder / "bin" / "python3"
    target = os.path.relpath(os.readlink(link), f"/{PLACE}/bin")
    link.unlink()
    link.symlink_to(target)


def ask(folder: Path, *arguments: str) -> str:
    """What the Python of an environment prints; it leaves nothing behind."""
    environment = {"PATH": os.defpath, "HOME": os.devnull, "LC_ALL": "C.UTF-8"}
    command = [str(folder / "bin" / "python3"), "-I", "-B", *arguments]
    return subprocess.run(command, env=environment, check=True, capture_output=True, encoding="utf-8").stdout


def compile_all(stage: Path, folder: Path, moment: int) -> None:
    """Write the caches that users could not write. Without them a command takes more than twice its time.

    They name the paths of the installed files. They are valid for a source of that time and size, so that one left from
    an upgrade that was cut off is never taken for its new source. Every source has the time of the package.
    """
    for path in folder.rglob("*.py"):
        os.utime(path, (moment, moment))
    environment = {"PATH": os.defpath, "PYTHONHASHSEED": "0"}
    options = ["-q", "-j", "2", "--invalidation-mode", "timestamp", "-s", str(stage), "-p", "/"]
    command = [str(folder / "bin" / "python3"), "-s", "-B", "-m", "compileall", *options, str(folder / "lib")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"compileall: {done.stdout}{done.stderr}")


def glibc(folder: Path) -> str:
    """The oldest C library on which every binary module works, as their wheels say: "2.34"."""
    tags = "".join(path.read_text() for path in folder.glob("lib/*/site-packages/*.dist-info/WHEEL"))
    needs = []
    for info in folder.glob("lib/*/site-packages/*.dist-info/WHEEL"):
        found = re.findall(r"manylinux_2_(\d+)_", info.read_text())
        needs += [min(map(int, found))] if found else []
    assert needs or "manylinux" not in tags, "unknown wheel tags"
    return f"2.{max(needs, default=17)}"
