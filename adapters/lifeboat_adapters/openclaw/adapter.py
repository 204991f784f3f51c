"""The OpenClaw adapter: the methods of the contract, each implemented by a module of this package."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from typing import Any

from lifeboat_adapters.contract import (
    Adapter,
    CaptureRoot,
    CredentialSupport,
    DatabaseSupport,
    Derivation,
    HookSupport,
    Installation,
    MemorySection,
    PlacementSupport,
    RuntimeRow,
)
from lifeboat_adapters.credential_types import LeftoverSecretFile
from lifeboat_adapters.item_fates import ItemFate
from lifeboat_adapters.notes import memory_comments, note_joining, note_names, note_splitting
from lifeboat_adapters.openclaw import (
    captured_rows,
    openclaw_databases,
    openclaw_discovery,
    openclaw_folders,
    openclaw_paths,
    openclaw_placement,
)
from lifeboat_adapters.openclaw.credentials import (
    openclaw_auth_profiles,
    openclaw_credential_needs,
    openclaw_leftovers,
    openclaw_secrets,
    openclaw_shared_files,
)
from lifeboat_adapters.openclaw.hook import hook_planning
from lifeboat_adapters.openclaw.layers import openclaw_hints, openclaw_identity
from lifeboat_adapters.openclaw.restore import (
    credential_delivery,
    openclaw_installation,
    openclaw_next_steps,
    openclaw_rendering,
    session_import,
    translate_for_openclaw,
)
from lifeboat_adapters.persona import capabilities, persona_principals, unsupported_fields

DERIVATIONS = (
    openclaw_identity.DERIVATION,
    persona_principals.make_principals_derivation(openclaw_paths.RUNTIME, openclaw_paths.RAW + openclaw_paths.USER),
    *openclaw_hints.DERIVATIONS,
)
_SEEDS = frozenset({"46e0d8c937df7b104de97a23c58537292672654194879ca9f76b02075e022555"})
"""SHA-256 digests of the USER.md with which OpenClaw creates a workspace. It holds examples and no memories."""
_UNSUPPORTED = {**unsupported_fields.OF_MEMORIES, "confidence": "the confidence of each memory"}


class OpenClawCredentials(CredentialSupport):
    """Credentials in OpenClaw's files and databases."""

    find = staticmethod(openclaw_secrets.find_openclaw_secrets)
    learned = staticmethod(openclaw_databases.secrets_in_openclaw_databases)
    needs = staticmethod(openclaw_credential_needs.openclaw_credential_needs_of)
    is_store = staticmethod(credential_delivery.is_credential_store)
    secret_places = staticmethod(openclaw_installation.openclaw_secret_places)
    translate = staticmethod(translate_for_openclaw.translate_for_openclaw_config)
    deliveries = staticmethod(credential_delivery.plan_credential_deliveries)

    def leftovers(self, installation: Installation) -> Iterator[LeftoverSecretFile]:
        state_dir = installation.state_dir
        return iter(()) if state_dir is None else openclaw_leftovers.find_openclaw_leftovers(state_dir)


class OpenClawDatabases(DatabaseSupport):
    """OpenClaw's databases: schedule, intentions, transcripts and credentials. Its memories are notes."""

    files = staticmethod(openclaw_databases.list_openclaw_databases)
    unreadable_rows = staticmethod(captured_rows.find_row_source_problem)
    row_names = staticmethod(captured_rows.openclaw_row_names)
    session_deliveries = staticmethod(session_import.plan_session_deliveries)

    def rows(self, installation: Installation, *, transcripts: bool, cron: bool = False) -> Iterator[RuntimeRow]:
        return openclaw_databases.read_openclaw_rows(installation, transcripts=transcripts)


class OpenClawHook(HookSupport):
    """The hook in OpenClaw's state directory."""

    skills = "skills"
    install = staticmethod(hook_planning.plan_hook_install)
    remove = staticmethod(hook_planning.plan_hook_removal)
    problem = staticmethod(hook_planning.find_hook_problem)


class OpenClawPlacement(PlacementSupport):
    """Places an agent in a state directory of OpenClaw."""

    install_into = staticmethod(openclaw_installation.openclaw_install_into)
    home_around = staticmethod(openclaw_folders.choose_openclaw_state_folder)
    home_name = staticmethod(openclaw_installation.openclaw_home_name)
    merge_home = staticmethod(openclaw_installation.merge_openclaw_file)
    next_steps = staticmethod(openclaw_next_steps.list_openclaw_next_steps)
    missing_on_host = staticmethod(capabilities.find_missing_capabilities)


class OpenClaw(Adapter):
    """The adapter for OpenClaw of February and of September 2026."""

    runtime = openclaw_paths.RUNTIME
    splitter_version = note_splitting.VERSION
    home_names = openclaw_folders.FOLDERS
    credentials = OpenClawCredentials()
    databases = OpenClawDatabases()
    hook = OpenClawHook()
    placement = OpenClawPlacement()

    discover = staticmethod(openclaw_discovery.discover_openclaw_agents)
    locate = staticmethod(openclaw_discovery.locate_openclaw)
    recognises = staticmethod(openclaw_discovery.rate_openclaw_workspace)
    find_program = staticmethod(openclaw_folders.find_openclaw_program)
    place = staticmethod(openclaw_placement.place_openclaw_path)
    exclusion = staticmethod(openclaw_placement.openclaw_exclusion_reason)
    share = staticmethod(openclaw_shared_files.share_of_openclaw_file)
    matters = staticmethod(openclaw_auth_profiles.without_use_statistics)
    label = staticmethod(memory_comments.memory_label)
    render = staticmethod(openclaw_rendering.render_openclaw_files)

    def roots(self, installation: Installation) -> Sequence[CaptureRoot]:
        workspace = CaptureRoot(openclaw_paths.RAW, installation.workspace)
        if installation.state_dir is None:
            return (workspace,)
        files = openclaw_placement.openclaw_home_files(installation)
        home = CaptureRoot(openclaw_paths.HOME, installation.state_dir, files, openclaw_placement.CAPS)
        return (workspace, home)

    def split(self, path: str, text: str) -> list[MemorySection] | None:
        name = openclaw_paths.in_workspace(path)
        is_seed = name == note_names.USER and hashlib.sha256(text.encode("utf-8", "replace")).hexdigest() in _SEEDS
        return None if name is None or is_seed else note_splitting.split_note(name, text)

    def join(self, path: str, memories: Sequence[tuple[str, str]]) -> str:
        return note_joining.join_note(path.removeprefix(openclaw_paths.RAW), memories, native=True)

    def derivations(self) -> Sequence[Derivation]:
        return DERIVATIONS

    def cannot_hold(self, installation: Installation, state: Any) -> Iterator[ItemFate]:
        return unsupported_fields.list_unsupported_fields(state, holds_numbers=False, fields=_UNSUPPORTED)
