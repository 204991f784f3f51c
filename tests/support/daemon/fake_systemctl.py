"""A `systemctl` for tests: a program that records its calls, and what is enabled and running."""

from __future__ import annotations

from pathlib import Path

_PROGRAM = """#!/bin/sh
here=$(dirname "$0")
echo "$@" >> "$here/asked"
[ -e "$here/absent" ] && { echo "Failed to connect to bus: No medium found" >&2; exit 1; }
[ -e "$here/slow" ] && exec sleep 30
while [ "$1" = --user ] || [ "$1" = --no-pager ]; do shift; done
verb=$1; shift
[ -e "$here/refuses-$verb" ] && { echo "Job for lifeboat.service failed." >&2; exit 1; }
case $verb in
  enable) touch "$here/enabled" ;;
  start|restart) touch "$here/active"; [ -e "$here/hook" ] && . "$here/hook" ;;
  stop) rm -f "$here/active" ;;
  disable) rm -f "$here/enabled" "$here/active" ;;
  show)
    [ "$1" = -p ] && { echo "Version=252"; exit 0; }
    if [ -e "$here/active" ]; then echo ActiveState=active; echo MainPID=4242
    else echo ActiveState=inactive; echo MainPID=0; fi
    if [ -e "$here/enabled" ]; then echo UnitFileState=enabled; else echo UnitFileState=disabled; fi
    echo NeedDaemonReload=no ;;
esac
exit 0
"""


class FakeSystemctl:
    """A fake `systemctl`. Put `path` first into PATH."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        program = folder / "systemctl"
        program.write_text(_PROGRAM)
        program.chmod(0o755)

    @property
    def path(self) -> str:
        return f"{self.folder}:/usr/bin:/bin"

    def asked(self) -> list[str]:
        """Return the changes that were requested, in order."""
        try:
            lines = (self.folder / "asked").read_text().splitlines()
        except FileNotFoundError:
            return []
        return [words for line in lines if not (words := line.removeprefix("--user --no-pager ")).startswith("show")]

    def has(self, what: str) -> bool:
        """Return whether the service is `enabled` or `active`."""
        return (self.folder / what).exists()

    def starts(self, *command: str) -> None:
        """Set what `start` starts, in the background."""
        words = " ".join(f"'{word}'" for word in command)
        (self.folder / "hook").write_text(f"{words} </dev/null >/dev/null 2>&1 &\n")

    def be(self, what: str) -> None:
        """Set the behaviour. `absent`: no answer; `slow`: no answer in time; `refuses-<verb>`."""
        (self.folder / what).touch()
