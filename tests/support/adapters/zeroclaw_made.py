"""A ZeroClaw installation with a little of everything, for the suites that every adapter must pass."""

from __future__ import annotations

from pathlib import Path

from lifeboat_adapters.testing import SampleInstallation
from support.adapters.zeroclaw_installs import make_install

TOKEN = "123456789:AAfake-telegram-token-of-nobody-000"


def make_zeroclaw(folder: Path, generation: str) -> SampleInstallation:
    """Write memories of several kinds, a note of the day, and a token in the configuration."""
    install = make_install(folder / ".zeroclaw", generation)
    config = install.home / "config.toml"
    channel = "[channels_config.telegram]" if install.is_early else "[channels.telegram.default]"
    config.write_text(f'{config.read_text()}\n{channel}\nbot_token = "{TOKEN}"\n')
    install.remember("harbour", "The harbour opens at seven.", importance=0.9)
    install.remember("walk", "Walked to the lighthouse.", category="daily", session_id="s1")
    install.remember("tone", "Prefers short answers.", kind="semantic", pinned=1)
    install.remember("weather", "Snö och 雪 \U0001f426\nin two lines", category="weather", namespace="north")
    (install.workspace() / "memory").mkdir(exist_ok=True)
    (install.workspace() / "MEMORY.md").write_text("# Memory\n\n## Boat\n\nThe red boat lies in the harbour.\n")
    return SampleInstallation(install.workspace(), folder, install.environment)
