"""A minimal Debian, created once by debootstrap and kept, entered without a network. Tests write to a layer above it.

Everything inside runs in separate namespaces, which end with all mounts and processes when the root is closed.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from support.patience import patience

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "agent-lifeboat" / "debootstrap"
USER = "ada"
TOOLS = ("mandoc", "zsh", "fish")
"""Programs with which tests examine the package. They and the package's dependencies are in the root as archives."""
_DEPENDENCIES = ("python3",)
_KEPT_FOR = 30 * 24 * 3600.0
"""Seconds after which the root is created again, so that it matches a current system."""
_MIRROR = os.environ.get("DEBIAN_MIRROR", "")
_PLAIN = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8", "DEBIAN_FRONTEND": "noninteractive"}


def reason_against() -> str | None:
    """Return why there can be no clean root here, or None."""
    if platform.system() != "Linux" or os.geteuid() != 0:
        return "a clean root needs Linux and root"
    missing = [tool for tool in ("debootstrap", "unshare", "nsenter", "dpkg-deb", "apt-get") if not shutil.which(tool)]
    return f"a clean root needs {', '.join(missing)} (make system-packages)" if missing else None


def base() -> Path:
    """Return the kept root. Creates it if there is none or if it is too old."""
    place = CACHE / f"{_codename()}-{platform.machine()}-{'-'.join((*_DEPENDENCIES, *TOOLS))}"
    if place.exists() and time.time() - place.stat().st_mtime < _KEPT_FOR:
        return place
    CACHE.mkdir(parents=True, exist_ok=True)
    made = CACHE / f"new-{os.getpid()}"
    try:
        _bootstrap(made)
        shutil.rmtree(place, ignore_errors=True)
        made.rename(place)
    finally:
        shutil.rmtree(made, ignore_errors=True)
    os.utime(place)
    return place


def _codename() -> str:
    fields = dict(line.split("=", 1) for line in Path("/etc/os-release").read_text().splitlines() if "=" in line)
    return fields["VERSION_CODENAME"].strip('"')


def _bootstrap(root: Path) -> None:
    mirror = _MIRROR or _mirror_of_this_machine()
    _ended(["debootstrap", "--variant=minbase", _codename(), str(root), *([mirror] if mirror else [])], os.environ)
    resolver = root / "etc/resolv.conf"
    shutil.copyfile("/etc/resolv.conf", resolver)
    environment = os.environ | _PLAIN | _proxy()
    wanted = [*_DEPENDENCIES, *TOOLS]
    _ended(["chroot", str(root), "apt-get", "-qq", "update"], environment)
    _ended(
        ["chroot", str(root), "apt-get", "-qq", "-y", "--no-install-recommends", "-d", "install", *wanted], environment
    )
    resolver.unlink()
    _ended(["chroot", str(root), "useradd", "--create-home", "--shell", "/bin/bash", USER], environment)


def _mirror_of_this_machine() -> str:
    """Return the mirror from which apt on this machine takes the main archive."""
    command = ["apt-get", "indextargets", "--format", "$(SITE)", "Created-By: Packages", f"Codename: {_codename()}"]
    sites = subprocess.run(command, capture_output=True, text=True).stdout.split()
    return sites[0] if sites else ""


def _proxy() -> dict[str, str]:
    command = ["apt-config", "shell", "proxy", "Acquire::http::Proxy"]
    said = subprocess.run(command, capture_output=True, text=True).stdout.strip()
    return {"http_proxy": said.partition("=")[2].strip("'")} if said else {}


def _ended(command: list[str], environment: os._Environ[str] | dict[str, str]) -> None:
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, f"{command[0]} {command[-1]}: {(done.stdout + done.stderr)[-2000:]}"


@dataclass(slots=True)
class Root:
    """An entered root. `place` is its mount point in its namespace, `folder` its path from outside, `inside` the
    process that holds its namespaces."""

    place: Path
    folder: Path
    inside: int

    @property
    def home(self) -> Path:
        return self.folder / "home" / USER

    def run(self, *command: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        """Run a command as root."""
        return self._enter([*command], _PLAIN, check=check)

    def user(self, script: str, *, check: bool = True) -> subprocess.CompletedProcess[str]:
        """Run a line of shell as an ordinary user who has just logged in."""
        own = {"HOME": f"/home/{USER}", "USER": USER, "LOGNAME": USER, "PATH": "/usr/local/bin:/usr/bin:/bin"}
        command = ["/sbin/runuser", "-u", USER, "--", "bash", "-c", f"cd && {script}"]
        return self._enter(command, {"LANG": "C.UTF-8", **own}, check=check)

    def install(self, *packages: str | Path) -> None:
        """Run `apt-get install`; a package file is copied into the root first."""
        named = []
        for package in packages:
            if isinstance(package, Path):
                shutil.copyfile(package, self.folder / "root" / package.name)
                named.append(f"/root/{package.name}")
            else:
                named.append(package)
        self.run("apt-get", "-qq", "-y", "--no-install-recommends", "install", *named)

    def give_to_user(self, path: Path) -> None:
        """Make the user the owner of a tree that the test wrote."""
        self.run("chown", "-R", f"{USER}:{USER}", f"/{path.relative_to(self.folder)}")

    def _enter(
        self, command: list[str], environment: dict[str, str], *, check: bool
    ) -> subprocess.CompletedProcess[str]:
        enter = ["nsenter", "-t", str(self.inside), "-m", "-p", "-n", "--", "/usr/sbin/chroot", str(self.place)]
        done = subprocess.run(
            [*enter, *command],
            env=environment,
            capture_output=True,
            text=True,
            timeout=patience(240),
            stdin=subprocess.DEVNULL,
        )
        assert not check or done.returncode == 0, f"{command}: {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done


@contextmanager
def entered(folder: Path) -> Iterator[Root]:
    """Yield a fresh layer over the kept root, in memory, mounted at the empty folder `folder`.

    It is mounted in a separate namespace, so it is visible from outside only through the process that holds the
    namespace.
    """
    upper = folder / "memory"
    layers = f"lowerdir={base()},upperdir={upper}/changes,workdir={upper}/work"
    steps = (
        f"mkdir {upper} && mount -t tmpfs -o size=3g tmpfs {upper} && mkdir {upper}/changes {upper}/work {upper}/root",
        f"mount -t overlay -o {layers} overlay {upper}/root",
        f"mount -t proc proc {upper}/root/proc && mount -t tmpfs tmpfs {upper}/root/run",
        "echo ready && while :; do sleep 60; done",
    )
    command = ["unshare", "--mount", "--pid", "--net", "--fork", "--kill-child", "sh", "-c", " && ".join(steps)]
    holder = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert holder.stdout is not None and holder.stdout.readline() == "ready\n"
        inside = Path(f"/proc/{holder.pid}/task/{holder.pid}/children").read_text().split()[0]
        yield Root(upper / "root", Path(f"/proc/{inside}/root{upper}/root"), int(inside))
    finally:
        holder.kill()
        holder.wait()
        if holder.stdout is not None:
            holder.stdout.close()
