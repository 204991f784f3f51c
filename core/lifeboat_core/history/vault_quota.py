"""The space for a vault: its own limit, and what has to stay free on its disk.

Large files are dropped first, then their old versions, then history; notes and credentials are captured as long as the
disk has space.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from lifeboat_alf.common.size_texts import size_text
from lifeboat_core.agents.agent import Agent
from lifeboat_core.home.context import Context
from lifeboat_vault.vault import Vault


@dataclass(frozen=True, slots=True)
class VaultQuota:
    """Sizes in bytes: what the vault uses and may use, what is free on its disk and has to stay free."""

    used: int
    max_size: int
    free: int
    min_free: int

    def shortage(self, more: int = 0) -> str | None:
        """Return for people why so many more bytes must not be stored; None when they may."""
        if self.used + more > self.max_size:
            usage = "would exceed its maximum size" if self.used <= self.max_size else f"uses {size_text(self.used)}"
            return f"the vault {usage}; the setting vault.max_size is {size_text(self.max_size)}"
        if self.free - more < self.min_free:
            free_space = f"only {size_text(self.free)} are free on the disk"
            return f"{free_space}; the setting vault.min_free reserves {size_text(self.min_free)}"
        return None


def measure_quota(context: Context, agent: Agent, vault: Vault) -> VaultQuota:
    """Return the quota of a vault now. Raises OSError."""
    return measure_quota_with(context, vault, lambda name: context.setting(name, agent))


def measure_quota_with(context: Context, vault: Vault, setting: Callable[[str], Any]) -> VaultQuota:
    """Return the same with settings that the caller has read."""
    free = context.files.free_space(context.home.folder)
    return VaultQuota(vault.size(), setting("vault.max_size"), free, setting("vault.min_free"))
