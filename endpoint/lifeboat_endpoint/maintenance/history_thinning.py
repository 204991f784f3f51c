"""Thinning of one agent: by the retention, then by the size cap."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from lifeboat_endpoint.endpoint_config import EndpointConfig
from lifeboat_vault.retention.retention_policy import sequences_to_drop, shorten_retention
from lifeboat_vault.vault import ThinReport, Vault


@dataclass
class AgentCare:
    """What was thinned of one agent. `steps` are sentences; `bytes_freed` on disk."""

    sequences: int = 0
    large_files: int = 0
    bytes_freed: int = 0
    steps: list[str] = field(default_factory=list)

    def add(self, report: ThinReport, step: str) -> None:
        self.sequences += len(report.dropped)
        self.bytes_freed += report.bytes_freed
        if not report.dropped:
            self.large_files += report.objects_dropped
        if report.dropped or report.objects_dropped:
            self.steps.append(step)


def thin_history(vault: Vault, settings: EndpointConfig, now: datetime | None, care: AgentCare) -> None:
    """Thin by the retention. Writes nothing if nothing is too old.

    `now` is a trusted time. With None, no sequence is dropped and no pin expires.
    """
    policy = settings.retention.retention()
    if now is not None and sequences_to_drop(vault.sequences(), policy, now, vault.last_verified()):
        report = vault.thin(policy, now)
        care.add(report, f"old sequences thinned: {len(report.dropped)}")
    _drop_versions(vault, settings.large_file_versions, now, care)


def keep_below(vault: Vault, cap: int, settings: EndpointConfig, now: datetime | None, care: AgentCare) -> bool:
    """Make a vault smaller while it is above its cap; return whether it is within its cap then.

    Old bytes of large files go first, then history, a tenth at a time. The head and pinned sequences stay.
    """
    if vault.size() > cap:
        _drop_versions(vault, 1, now, care)
    if vault.size() > cap and now is not None:
        _thin_sooner(vault, settings, now, care)
    return vault.size() <= cap


def _thin_sooner(vault: Vault, settings: EndpointConfig, now: datetime, care: AgentCare) -> None:
    """Thin by a shorter retention, for the size cap."""
    policy = shorten_retention(settings.retention.retention())
    if sequences_to_drop(vault.sequences(), policy, now, vault.last_verified()):
        report = vault.thin(policy, now)
        care.add(
            report,
            "sequences thinned before the end of their retention, because the size cap was "
            f"reached: {len(report.dropped)}",
        )


def _drop_versions(vault: Vault, keep: int, now: datetime | None, care: AgentCare) -> None:
    if vault.old_versions(keep, now):
        report = vault.drop_old_versions(keep, now)
        care.add(report, f"old versions of large files removed: {report.objects_dropped}; newest versions kept: {keep}")
