"""What every command works with: the home, the seams, and access to keys, vaults and adapters.

Keys, vaults and adapters are imported when they are asked for: the daemon has a context and needs none of them.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lifeboat_alf.common import times
from lifeboat_alf.seams.file_operations import FileOperations, SystemFiles
from lifeboat_alf.seams.system_clock import Clock, SystemClock
from lifeboat_core.errors import ConfigError
from lifeboat_core.home.folder_names import names_in
from lifeboat_core.home.lifeboat_home import Home
from lifeboat_core.home.path_variables import with_whole_paths
from lifeboat_core.settings import config_file

if TYPE_CHECKING:
    from lifeboat_adapters.contract import Adapter, Installation
    from lifeboat_core.agents.agent import Agent
    from lifeboat_core.agents.locks import LockPatience
    from lifeboat_keys.home.home_keys import HomeKeys
    from lifeboat_vault.vault import Vault


@dataclass(frozen=True, slots=True)
class Context:
    """An opened home with its seams. Cheap to make; holds nothing open. `patience`: how long to wait for agents' locks,
    None for not at all. `carried_profiles` are folder profiles of the state that is being restored, by runtime."""

    home: Home
    files: FileOperations = field(default_factory=SystemFiles)
    clock: Clock = field(default_factory=SystemClock)
    environment: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    patience: LockPatience | None = None
    carried_profiles: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def open(
        cls,
        environment: Mapping[str, str] | None = None,
        files: FileOperations | None = None,
        clock: Clock | None = None,
    ) -> Context:
        """Locate, make and check the home; migrate one of an earlier release. Raises HomeError, Busy."""
        around = with_whole_paths(os.environ if environment is None else environment)
        operations = files or SystemFiles()
        context = cls(Home.locate(around).open(operations), operations, clock or SystemClock(), around)
        if context.home.is_older(operations):
            from lifeboat_core import migrations

            migrations.migrate_home(context)
        return context

    @property
    def user_home(self) -> Path:
        """Return the user's own home folder."""
        return Path(self.environment.get("HOME") or Path.home())

    def now(self) -> str:
        return times.to_text(self.clock.now())

    def keys(self) -> HomeKeys:
        """Return the keys of this home. Nothing is read or started before it is needed."""
        from lifeboat_keys.home.home_keys import HomeKeys
        from lifeboat_keys.stores.key_environment import KeyEnvironment, is_in_temporary_folder

        around = KeyEnvironment(
            home_id=self.home.read_id(self.files),
            environment=self.environment,
            key_command=self._key_command,
            temporary=is_in_temporary_folder(self.home.folder),
        )
        return HomeKeys(self.home.keys_folder, self.files, self.clock, around, self.home.spare_keys_folder)

    def _key_command(self) -> str:
        with contextlib.suppress(ConfigError):  # `status` says what is wrong with it
            return str(self.setting("key_command"))
        return ""

    def config(self) -> config_file.Config:
        """Read the configuration in force. Raises ConfigError."""
        return config_file.load_config(self.home, self.files)

    def setting(self, name: str, agent: Agent | None = None) -> Any:
        """Return the value of one setting; the agent's own comes first."""
        return self.config().get(name, agent.settings if agent else None).value

    def create_vault(self, agent_id: str) -> Vault:
        from lifeboat_vault.vault import Vault

        return Vault.create(self.home.vault_folder(agent_id), agent_id, files=self.files, clock=self.clock)

    def vault(self, agent_id: str) -> Vault:
        """Open an agent's vault. Raises what `Vault.open` raises; the error for a missing vault says if a remote may
        have its history, or if an interrupted adoption had set it aside."""
        from lifeboat_vault.errors import VaultMissing
        from lifeboat_vault.vault import Vault

        try:
            return Vault.open(self.home.vault_folder(agent_id), files=self.files, clock=self.clock)
        except VaultMissing as error:
            if names_in(self.files, self.home.remotes_folder):
                error.fix = f"lifeboat agents adopt {agent_id}"
            raise

    def adapter(self, runtime: str) -> Adapter:
        from lifeboat_adapters import adapter_registry

        return adapter_registry.load_adapter(runtime, self.home.profiles_folder, self.carried_profiles)

    def adapters(self) -> list[Adapter]:
        from lifeboat_adapters import adapter_registry

        return list(adapter_registry.load_adapters(self.home.profiles_folder).values())

    def recognise(self, workspace: Path) -> Adapter:
        """Return the adapter for a folder. Raises NotAWorkspace."""
        from lifeboat_adapters import adapter_registry

        return adapter_registry.recognise_workspace(workspace, self.home.profiles_folder)

    def installation(self, agent: Agent) -> Installation:
        """Return the runtime around an agent's workspace as it is now. Raises NotAWorkspace."""
        return self.adapter(agent.runtime).locate(agent.workspace, self.environment, self.user_home)
