"""Commands that install or upgrade, for the installer that installed this program."""

from __future__ import annotations

import shlex
import sys
from enum import Enum
from pathlib import Path

DISTRIBUTION = "agent-lifeboat"
_DEBIAN = Path("/usr/lib/agent-lifeboat")


class Installer(Enum):
    PIPX = "pipx"
    UV_TOOL = "uv tool"
    DEBIAN = "Debian package"
    UV_PIP = "uv pip"
    PIP = "pip"


def find_installer(environment: Path | None = None) -> Installer:
    """Return what installed the environment at `sys.prefix`, by the files that the installer leaves in it."""
    prefix = Path(sys.prefix) if environment is None else environment
    if (prefix / "pipx_metadata.json").is_file():
        return Installer.PIPX
    if (prefix / "uv-receipt.toml").is_file():
        return Installer.UV_TOOL
    if prefix == _DEBIAN:
        return Installer.DEBIAN
    return Installer.PIP if _has_pip(prefix) else Installer.UV_PIP


def _has_pip(prefix: Path) -> bool:
    return next(prefix.glob("lib/*/site-packages/pip"), None) is not None or (prefix / "Lib/site-packages/pip").is_dir()


def install_command(*packages: str, environment: Path | None = None) -> str:
    """Return the command that adds packages to the environment of this program."""
    installer = find_installer(environment)
    if installer is Installer.PIPX:
        return shlex.join(["pipx", "inject", DISTRIBUTION, *packages])
    if installer is Installer.PIP:
        return shlex.join([sys.executable, "-m", "pip", "install", *packages])
    words = ["uv", "pip", "install", "--python", sys.executable, *packages]
    return shlex.join(["sudo", *words] if installer is Installer.DEBIAN else words)


def first_install_command() -> str:
    """Return the command that installs this program on another machine, with the installer that is used on this one."""
    commands = {
        Installer.PIPX: "pipx install",
        Installer.UV_TOOL: "uv tool install",
        Installer.DEBIAN: "sudo apt install",
        Installer.UV_PIP: "uv pip install",
        Installer.PIP: "python3 -m pip install",
    }
    return f"{commands[find_installer()]} {DISTRIBUTION}"


def extra_command(extra: str) -> str:
    """Return the command that adds the packages of an extra. An index need not know this program, so the packages are
    named."""
    from importlib.metadata import PackageNotFoundError, requires  # slow to import, and only errors need it

    try:
        needed = [each.partition(";")[0].strip() for each in requires(DISTRIBUTION) or () if _is_of(each, extra)]
    except PackageNotFoundError:
        needed = []
    return install_command(*(needed or [f"{DISTRIBUTION}[{extra}]"]))


def _is_of(requirement: str, extra: str) -> bool:
    marker = requirement.partition(";")[2].replace('"', "'")
    return f"extra == '{extra}'" in marker and not ("win32" in marker and sys.platform == "win32")


def upgrade_command(package: str = DISTRIBUTION) -> str:
    """Return the command that upgrades this program, or a package in its environment."""
    installer = find_installer()
    if package != DISTRIBUTION:
        return install_command("--upgrade", package)
    if installer is Installer.DEBIAN:
        return "sudo apt install --only-upgrade agent-lifeboat"
    if installer is Installer.PIPX:
        return f"pipx upgrade {DISTRIBUTION}"
    return (
        f"uv tool upgrade {DISTRIBUTION}" if installer is Installer.UV_TOOL else install_command("--upgrade", package)
    )


def reinstall_command() -> str:
    """Return the command that installs this program again with the libraries it needs."""
    installer = find_installer()
    if installer is Installer.DEBIAN:
        return "sudo apt install --reinstall agent-lifeboat"
    if installer is Installer.PIPX:
        return f"pipx reinstall {DISTRIBUTION}"
    if installer is Installer.UV_TOOL:
        return f"uv tool upgrade --reinstall {DISTRIBUTION}"
    return install_command("--force-reinstall" if installer is Installer.PIP else "--reinstall", DISTRIBUTION)
