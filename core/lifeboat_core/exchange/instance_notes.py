"""Remember which memory has which id in a running instance of another system.

There is one 0600 file per instance, replaced durably whenever a value is set, so that a killed conversion can continue.
The file's name does not reveal the address; it has ids, never content.
"""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from lifeboat_alf.common import ids, json_codec
from lifeboat_alf.common.json_types import JsonObject
from lifeboat_alf.errors import BadJson
from lifeboat_alf.seams.file_operations import FileOperations, read_all, write_atomic
from lifeboat_core.agents.locks import agent_lock
from lifeboat_core.errors import ExchangeError
from lifeboat_core.home.context import Context
from lifeboat_core.system_refusals import convert_system_error
from lifeboat_core.texts.human_text import quote_argument


class InstanceNotes(MutableMapping[str, Any]):
    """The values by name, as JSON. A value that was changed inside has to be set again to be stored."""

    def __init__(self, files: FileOperations, path: Path, values: JsonObject) -> None:
        self._files, self._path, self._values = files, path, values

    def __getitem__(self, name: str) -> Any:
        return self._values[name]

    def __setitem__(self, name: str, value: Any) -> None:
        self._values[name] = value
        self._keep()

    def __delitem__(self, name: str) -> None:
        del self._values[name]
        self._keep()

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def _keep(self) -> None:
        try:
            write_atomic(self._files, self._path, json_codec.encode_json(self._values), mode=0o600)
        except OSError as error:
            raise convert_system_error(error) from error


@contextmanager
def open_instance_notes(
    context: Context, name: str, address: str, *, lasting: bool = True
) -> Iterator[MutableMapping[str, Any]]:
    """Open the notes on the instance of the format `name` at an address, for one conversion at a time. The part after
    `#` says how it is asked, not where it is. Without `lasting`, changes are not stored. Raises Busy, ExchangeError."""
    instance = ids.as_uuid(f"{name} {address.partition('#')[0]}")
    path = context.home.instances_folder / f"{instance}.json"
    with agent_lock(context, instance, "convert"):
        values = read_instance_notes(context.files, path)
        if not lasting:
            yield values
            return
        context.files.make_folders(path.parent, 0o700)
        yield InstanceNotes(context.files, path, values)


def read_instance_notes(files: FileOperations, path: Path) -> JsonObject:
    """Return the values in a file of notes, none when it is missing. Raises ExchangeError, SystemRefused."""
    try:
        values = json_codec.decode_strict(read_all(files, path), entry=path.name)
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise convert_system_error(error) from error
    except BadJson as error:
        aside = quote_argument(f"{path}.damaged")
        raise ExchangeError(
            f"{path} cannot be parsed: {error.message}", fix=f"mv {quote_argument(str(path))} {aside}"
        ) from error
    return values if isinstance(values, dict) else {}
