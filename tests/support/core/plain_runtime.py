"""A runtime without traits, for tests of what is the same for all: its files lie in one folder and mean nothing.

`home` in the environment's `PLAIN_HOME` is its own folder; the workspace named in `<home>/workspace.txt` belongs to it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from lifeboat_adapters.contract import (
    Adapter,
    CaptureRoot,
    Derivation,
    DiscoveredAgent,
    Installation,
    MemorySection,
    NextStep,
    Placement,
    PlacementSupport,
    RenderedFile,
)
from lifeboat_adapters.errors import NotAWorkspace
from lifeboat_alf.seams.file_operations import FileOperations, SystemFiles
from lifeboat_alf.seams.system_clock import Clock
from lifeboat_core.home.context import Context

RUNTIME = "openclaw"


class PlainPlacement(PlacementSupport):
    """Puts an agent into any folder."""

    def __init__(self, adapter: PlainAdapter) -> None:
        self.adapter = adapter

    def install_into(
        self,
        state_dir: Path,
        workspace: Path,
        state: Any,
        environment: Mapping[str, str],
        user_home: Path,
        version: str,
    ) -> Installation:
        return Installation(RUNTIME, workspace, "main", "Ada", state_dir=state_dir, program=self.adapter.program)

    def missing_on_host(self, identity: dict[str, Any]) -> list[dict[str, Any]]:
        found = identity.get("structured", {}).get("capabilities", [])
        return [
            {"name": each["name"], "host_requirements": each.get("host_requirements"), "reason": "not here"}
            for each in found
            if each.get("portability") == "host_dependent"
        ]

    def next_steps(self, installation: Installation, state: Any) -> list[NextStep]:
        return self.adapter.steps


class PlainAdapter(Adapter):
    """Every file is the runtime's own; `steps` is what a restore is told to run."""

    runtime = RUNTIME
    splitter_version = 1

    def __init__(self, steps: Sequence[NextStep] = (), program: Path | None = None) -> None:
        self.steps = list(steps)
        self.program = program
        self.rendered: list[RenderedFile] = []
        self.placement = PlainPlacement(self)

    def discover(self, environment: Mapping[str, str], user_home: Path) -> list[DiscoveredAgent]:
        state_dir = self._state_dir(environment)
        if state_dir is None:
            return []
        workspace = Path((state_dir / "workspace.txt").read_text())
        return [DiscoveredAgent(RUNTIME, "main", "Ada", workspace, state_dir)]

    def _state_dir(self, environment: Mapping[str, str]) -> Path | None:
        folder = environment.get("PLAIN_HOME")
        return Path(folder) if folder else None

    def locate(self, workspace: Path, environment: Mapping[str, str], user_home: Path) -> Installation:
        if not self.recognises(workspace):
            raise NotAWorkspace(f"{workspace} has no SOUL.md")
        state_dir = self._state_dir(environment)
        own = state_dir is not None and Path((state_dir / "workspace.txt").read_text()) == workspace
        return Installation(
            RUNTIME, workspace, "main", "Ada", state_dir=state_dir if own else None, program=self.program
        )

    def recognises(self, workspace: Path) -> bool:
        return (workspace / "SOUL.md").exists()

    def roots(self, installation: Installation) -> Sequence[CaptureRoot]:
        found = [CaptureRoot(f"raw/{RUNTIME}/", installation.workspace)]
        if installation.state_dir is not None:
            found.append(CaptureRoot(f"raw/{RUNTIME}-home/", installation.state_dir, only=("plain.json",)))
        return found

    def place(self, path: str, *, is_folder: bool) -> Placement:
        return Placement.ARTIFACT if path.endswith((".csv", ".bin")) else Placement.MANAGED

    def exclusion(self, path: str, *, is_folder: bool) -> str | None:
        return None

    def split(self, path: str, text: str) -> list[MemorySection] | None:
        return None

    def derivations(self) -> Sequence[Derivation]:
        return []

    def render(self, state: Any) -> Iterator[RenderedFile]:
        return iter(self.rendered)


class PlainContext(Context):
    """A context whose runtimes are all plain."""

    plain: PlainAdapter = PlainAdapter()

    def adapter(self, runtime: str) -> Adapter:
        return self.plain


def plain_context(
    folder: Path,
    adapter: PlainAdapter | None = None,
    files: FileOperations | None = None,
    clock: Clock | None = None,
    **environment: str,
) -> Context:
    """A context in `folder` with a home of its own and the plain runtime."""

    class Plain(PlainContext):
        plain = adapter or PlainAdapter()

    around = {"LIFEBOAT_HOME": str(folder / "home"), "HOME": str(folder / "user"), "PATH": "/usr/bin:/bin"}
    return Plain.open({**around, **environment}, files or SystemFiles(), clock)
