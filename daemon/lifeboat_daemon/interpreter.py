"""How this program starts itself in another process."""

from __future__ import annotations

import sys


def python(*arguments: str) -> tuple[str, ...]:
    """This interpreter with arguments. Modules are never looked for in the folder where it happens to run; where this
    process takes nothing from the user's environment (`-I`, as installed by a package), the other one does not either.
    """
    return (sys.executable, "-I" if sys.flags.isolated else "-P", *arguments)
