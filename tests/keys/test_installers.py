"""Commands that install something name the installer that installed this program."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import pytest

from lifeboat_alf.errors import LifeboatError
from lifeboat_keys import installers
from lifeboat_keys.installers import Installer
from lifeboat_keys.pairs.user_key import UserKey
from lifeboat_keys.recovery import recovery_kit
from lifeboat_vault.errors import EndpointNewer, VaultNewer


@pytest.fixture
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize(
    ("mark", "installer", "installs", "upgrades"),
    [
        ("pipx_metadata.json", Installer.PIPX, "pipx inject agent-lifeboat boto3", "pipx upgrade agent-lifeboat"),
        (
            "uv-receipt.toml",
            Installer.UV_TOOL,
            f"uv pip install --python {sys.executable} boto3",
            "uv tool upgrade agent-lifeboat",
        ),
        (
            "lib/python3.12/site-packages/pip",
            Installer.PIP,
            f"{sys.executable} -m pip install boto3",
            f"{sys.executable} -m pip install --upgrade agent-lifeboat",
        ),
        (
            "lib/x",
            Installer.UV_PIP,
            f"uv pip install --python {sys.executable} boto3",
            f"uv pip install --python {sys.executable} --upgrade agent-lifeboat",
        ),
    ],
)
def test_the_installer_in_use_is_named(
    environment: Path, mark: str, installer: Installer, installs: str, upgrades: str
) -> None:
    (environment / mark).parent.mkdir(parents=True, exist_ok=True)
    (environment / mark).touch()
    assert installers.find_installer() is installer
    assert installers.install_command("boto3") == installs
    assert installers.upgrade_command() == upgrades


@pytest.mark.parametrize(
    ("mark", "command"),
    [
        ("pipx_metadata.json", "pipx install agent-lifeboat"),
        ("uv-receipt.toml", "uv tool install agent-lifeboat"),
        ("lib/python3.12/site-packages/pip", "python3 -m pip install agent-lifeboat"),
        ("lib/x", "uv pip install agent-lifeboat"),
    ],
)
def test_a_recovery_kit_names_the_installer_in_use(environment: Path, mark: str, command: str) -> None:
    (environment / mark).parent.mkdir(parents=True, exist_ok=True)
    (environment / mark).touch()
    page = recovery_kit.render_kit(UserKey.generate(), "2026-11-20")
    assert f"ON A NEW MACHINE\n    {command}\n" in page


def test_the_debian_package_is_upgraded_by_apt(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "prefix", "/usr/lib/agent-lifeboat")
    assert installers.find_installer() is Installer.DEBIAN
    assert installers.upgrade_command() == "sudo apt install --only-upgrade agent-lifeboat"
    assert installers.reinstall_command() == "sudo apt install --reinstall agent-lifeboat"
    assert installers.install_command("boto3").startswith("sudo uv pip install --python ")


def test_an_extra_names_its_packages_with_their_ranges() -> None:
    words = shlex.split(installers.extra_command("scale"))
    assert any(word.startswith("psycopg[binary,pool]") for word in words)
    assert any(word.startswith("obstore") for word in words)
    assert "agent-lifeboat[scale]" not in words


@pytest.mark.parametrize("error", [VaultNewer, EndpointNewer])
def test_an_error_about_a_newer_release_names_the_upgrade_of_the_installer_in_use(
    environment: Path, error: type[LifeboatError]
) -> None:
    (environment / "uv-receipt.toml").touch()
    assert error("schema 9").fix == "uv tool upgrade agent-lifeboat"
