"""Room for a vault: its own limit and what has to stay free on its disk. Large files give way first, then old
versions of them, then history; notes and credentials are captured as long as the disk takes them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from lifeboat_core.agents.agent import Agent
from lifeboat_core.home.context import Context
from lifeboat_core.texts.human_text import size_text
from lifeboat_vault.vault import Vault


@dataclass(frozen=True, slots=True)
class VaultQuota:
    """Sizes in bytes: what the vault takes and may take, what is free on its disk and has to stay so."""

    used: int
    max_size: int
    free: int
    min_free: int

    def shortage(self, more: int = 0) -> str | None:
        """Why so many bytes more must not be taken, for people; None when they may."""
        if self.used + more > self.max_size:
            takes = "would take more" if self.used <= self.max_size else f"takes {size_text(self.used)}"
            return f"the vault {takes}; vault.max_size is {size_text(self.max_size)}"
        if self.free - more < self.min_free:
            left = f"only {size_text(self.free)} are free on the disk"
            return f"{left}; vault.min_free keeps {size_text(self.min_free)} free"
        return None


def measure_quota(context: Context, agent: Agent, vault: Vault) -> VaultQuota:
    """How much room a vault has now. Raises OSError."""
    return measure_quota_with(context, vault, lambda name: context.setting(name, agent))


def measure_quota_with(context: Context, vault: Vault, setting: Callable[[str], Any]) -> VaultQuota:
    """`measure_quota` with the settings already at hand."""
    free = context.files.free_space(context.home.folder)
    return VaultQuota(vault.size(), setting("vault.max_size"), free, setting("vault.min_free"))
