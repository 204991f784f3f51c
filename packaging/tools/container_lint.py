"""Rules for the container's recipe that need no network and no other program."""

from __future__ import annotations

import re
from pathlib import Path

_KNOWN = frozenset(
    "ARG FROM RUN COPY ENV USER WORKDIR VOLUME STOPSIGNAL HEALTHCHECK ENTRYPOINT CMD LABEL EXPOSE".split()
)
_JSON_FORM = ("ENTRYPOINT", "VOLUME")


def instructions(text: str) -> list[tuple[str, str]]:
    """(instruction, arguments) with continued lines joined, comments left out."""
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    joined = re.sub(r"\\\n\s*", "", "\n".join(lines))
    return [
        (name.upper(), rest.strip()) for name, _, rest in (line.partition(" ") for line in joined.splitlines() if line)
    ]


def findings(recipe: Path, context: Path) -> list[str]:
    """What is wrong with a Containerfile that is built in the folder `context`; empty when nothing is."""
    steps = instructions(recipe.read_text(encoding="utf-8"))
    found = [f"unknown instruction {name}" for name, _ in steps if name not in _KNOWN]
    found += _bases(steps) + _copies(steps, context) + _end(steps)
    for name, rest in steps:
        if name in _JSON_FORM and not rest.startswith("["):
            found.append(f"{name} goes through a shell")
        if name == "RUN" and re.search(r"curl|wget|apt-get upgrade|--trusted-host|--index-url", rest):
            found.append(f"RUN installs something that is in no lock file: {rest}")
        if name == "RUN" and "pip install" in rest and "--require-hashes" not in rest and "--no-deps" not in rest:
            found.append(f"RUN installs without hashes: {rest}")
    return found


def _bases(steps: list[tuple[str, str]]) -> list[str]:
    defaults = dict(rest.split("=", 1) for name, rest in steps if name == "ARG" and "=" in rest)
    found, stages = [], set()
    for rest in (rest for name, rest in steps if name == "FROM"):
        base, _, stage = rest.partition(" AS ")
        image = re.sub(r"\$\{(\w+)\}", lambda match: defaults.get(match[1], ""), base)
        if image not in stages and (":" not in image or image.endswith(":latest")):
            found.append(f"base is not pinned: {image}")
        if "/" in image:
            found.append(f"base names a registry: {image}")
        stages.add(stage)
    return found if len(stages) > 1 else [*found, "only one stage: the build tools would be shipped"]


def _copies(steps: list[tuple[str, str]], context: Path) -> list[str]:
    found = []
    for rest in (rest for name, rest in steps if name == "COPY" and not rest.startswith("--from=")):
        *sources, _ = rest.split()
        found += [f"COPY of {source}, which does not exist" for source in sources if not (context / source).exists()]
    return found


def _end(steps: list[tuple[str, str]]) -> list[str]:
    """What the last stage has to say."""
    last = steps[max(index for index, (name, _) in enumerate(steps) if name == "FROM") :]
    said = {name: rest for name, rest in last}
    found = [f"no {name}" for name in ("USER", "ENTRYPOINT", "CMD", "HEALTHCHECK", "VOLUME") if name not in said]
    if re.match(r"(root|0)\b", said.get("USER", "root")):
        found.append("it runs as root")
    return found
