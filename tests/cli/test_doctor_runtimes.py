"""The runtimes as `lifeboat doctor` and discovery see them: an adapter that is refused is named."""

from __future__ import annotations

from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from lifeboat_adapters import adapter_registry
from lifeboat_cli.doctor import DoctorLevel, check_runtimes
from lifeboat_daemon.work.operations import discover
from support.core.plain_runtime import plain_context


@pytest.fixture(autouse=True)
def _refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Install an adapter for an earlier contract beside the real ones."""
    value = "support.adapters.earlier_adapters:HALF_MOVED"
    points = {**adapter_registry._points(), "notebook": EntryPoint("notebook", value, adapter_registry.GROUP)}
    monkeypatch.setattr(adapter_registry, "_points", lambda: points)


def test_doctor_names_a_refused_adapter(tmp_path: Path) -> None:
    (found,) = check_runtimes.check(plain_context(tmp_path))
    assert (found.level, found.subject) == (DoctorLevel.ERROR, "notebook")
    assert "(a contract.CredentialSupport), not in the adapter itself: secrets" in found.result
    assert "must be in the attribute credentials of the adapter (a contract." in found.result


def test_discovery_names_a_refused_adapter(tmp_path: Path) -> None:
    (problem,) = discover.look_for_agents(plain_context(tmp_path))["problems"]
    assert "the adapter for notebook" in problem
