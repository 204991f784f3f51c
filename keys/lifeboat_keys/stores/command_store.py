"""Store for the setting `key_command`: a program of the user's choice that prints the key, like `pass show
lifeboat`."""

from __future__ import annotations

import shlex

from lifeboat_alf.errors import LifeboatError
from lifeboat_keys import child_processes
from lifeboat_keys.errors import BadWords, KeyDamaged, KeysError, NoKey, OtherKey
from lifeboat_keys.pairs.user_key import UserKey
from lifeboat_keys.stores.key_environment import PASSPHRASE, PASSPHRASE_FILE, KeyEnvironment
from lifeboat_keys.stores.key_texts import key_from
from lifeboat_keys.stores.store_kinds import StoreKind

SECONDS = 60.0
"""Time limit of the program, which may need the network."""
_SET = "lifeboat config set key_command COMMAND"


class CommandStore:
    """Store of one key, which only the user can replace."""

    kind = StoreKind.COMMAND
    description = "from the program in the setting key_command"

    def __init__(self, around: KeyEnvironment) -> None:
        self._around = around

    def problem(self) -> LifeboatError | None:
        if self._around.key_command().strip():
            return None
        return NoKey.COMMAND_FAILED("the setting key_command is empty", fix=_SET)

    def find(self) -> UserKey | None:
        problem = self.problem()
        if problem is not None:
            raise problem
        try:
            return self._printed(shlex.split(self._around.key_command()))
        except ValueError as error:  # its text mentions a quotation mark and repeats none of the setting
            raise NoKey.COMMAND_FAILED(
                f"the command in key_command cannot be split into words: {error}", fix=_SET
            ) from None

    def read(self, key_id: str) -> UserKey:
        key = self.find()
        if key is None or key.key_id != key_id:
            printed_key = "no key" if key is None else f"the key {key.key_id}"
            raise OtherKey(f"key_command prints {printed_key}, but this home has the key {key_id}")
        return key

    def keep(self, key: UserKey) -> None:
        present = self.find()
        if present is None or present.key_id != key.key_id:
            raise KeysError.STORE_READ_ONLY(
                "Lifeboat cannot store a key through key_command, and the command does not print this key; "
                "store the key yourself where the command reads it"
            )

    def _printed(self, command: list[str]) -> UserKey:
        own = (PASSPHRASE, PASSPHRASE_FILE)
        around = {name: value for name, value in self._around.environment.items() if name not in own}
        ran = child_processes.run_child(command, environment=around, seconds=SECONDS)
        if ran.exit_status is None:
            raise NoKey.COMMAND_FAILED(f"key_command {ran.problem}")
        if ran.exit_status != 0:
            raise NoKey.COMMAND_FAILED(
                f"key_command ended with status {ran.exit_status} and printed {len(ran.errors)} bytes of errors, "
                "which are not shown here"
            )
        try:
            return key_from(ran.output, "the output of key_command")
        except (BadWords, KeyDamaged) as error:
            raise NoKey.COMMAND_FAILED(f"key_command did not print a key: {error.message}") from None
