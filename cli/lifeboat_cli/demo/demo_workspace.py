"""An invented agent for the demonstration: Ada, who looks after a small harbour museum."""

from __future__ import annotations

import hashlib
import os
from datetime import date, timedelta
from pathlib import Path

FAKE_KEY = "sk-demo-0000-THIS-IS-NOT-A-REAL-KEY-0000"
FAKE_TOKEN = "demo-gateway-token-not-a-real-one-000000"

_FILES = {
    "SOUL.md": """# Soul

You are Ada. You are patient with visitors and exact with dates.

## Boundaries

- Never promise a loan of an exhibit without asking Robin.
- When unsure, say so and look it up.
""",
    "IDENTITY.md": """# Identity

- **Name:** Ada
- **Role:** Keeper of the harbour museum's memory
- **Voice:** warm, brief, a little dry

## Goals

- Keep the catalogue complete
- Answer visitors within a day

## Capabilities

- image_scaling: make thumbnails of photographs (requires: convert)
- catalogue_search: find exhibits by year, maker or material
""",
    "AGENTS.md": """# Operating instructions

1. Read MEMORY.md before the first answer of a day.
2. Write what was learned to today's log.

```text
## not a heading: this is inside a code fence
```

## Priorities

Visitors first, catalogue second, newsletter third.
""",
    "USER.md": """# Robin

- Name: Robin Example
- Timezone: Europe/Lisbon
- Language: en-GB

## Communication

- Tone: plain
- Length: short

<!-- observed: 2026-03-02 | status: active -->
- Prefers lists over paragraphs
<!-- observed: 2026-01-10 | status: superseded -->
- Wants a summary every evening
""",
    "TOOLS.md": "# Tools\n\n- `catalogue` lists exhibits; `catalogue --year 1911` narrows it.\n",
    "HEARTBEAT.md": "# Heartbeat\n\n- [ ] Anything in the inbox?\n- [ ] Newsletter due?\n",
    "MEMORY.md": """# What I know

## The museum

The museum opened in 1911 in the old pilot house. #history [importance|i=0.8]

## The lighthouse model

The model on the first floor was built by the keeper's daughter. It is cleaned on the first Monday of a month.

## Opening hours

Tuesday to Sunday, ten to five. In January only at weekends.
""",
    "memory/projects/newsletter.md": """# Newsletter

## Audience

Four hundred readers, most of them former sailors.

## Rhythm

Every second month, never in August.
""",
    "memory/people/volunteers.md": """# Volunteers

- Kim sorts photographs on Fridays.
- Sam repairs the clockwork.
""",
    "skills/thumbnails/SKILL.md": """---
name: thumbnails
requires: convert
---

# Thumbnails

Run `scripts/run.sh`.
""",
    "skills/thumbnails/scripts/run.sh": '#!/bin/sh\nexec convert "$1" -resize 200x200 "$2"\n',
    "exhibits.csv": "year,name,material\n1911,pilot house sign,oak\n1924,lighthouse model,brass\n",
    "notes/for-robin-only.md": "# Not for visitors\n\nThe insurance papers are in the blue folder.\n",
}


def write_workspace(state_dir: Path, today: date) -> Path:
    """Create the agent's home and workspace, and return the workspace. `today` is the date of the daily logs."""
    workspace = state_dir / "workspace"
    for name, text in _FILES.items():
        _write(workspace / name, text.encode())
    for age, lines in ((1, "Kim found the missing photographs."), (0, "A school class visited; 23 children.")):
        day = today - timedelta(days=age)
        _write(workspace / f"memory/{day}.md", f"# {day}\n\n## Morning\n\n{lines}\n\n## Evening\n\nQuiet.\n".encode())
    _write(workspace / "photographs/harbour-1911.raw", _noise(300_000))
    (workspace / "skills/thumbnails/scripts/run.sh").chmod(0o755)
    (workspace / "notes/for-robin-only.md").chmod(0o600)
    (workspace / "inbox").mkdir()
    (workspace / "current-project.md").symlink_to("memory/projects/newsletter.md")
    _write_config(state_dir)
    return workspace


def change_workspace(workspace: Path, today: date) -> None:
    """Change the workspace as an agent would: a new section in MEMORY.md, a line in the log, a new script, one note
    deleted."""
    memory = workspace / "MEMORY.md"
    text = memory.read_text()
    fresh = "## The storm\n\nThe storm of last night broke two windows; the glazier comes on Thursday.\n\n"
    memory.write_text(text.replace("## The museum\n", fresh + "## The museum\n", 1))
    log = workspace / f"memory/{today}.md"
    log.write_text(log.read_text() + "\n## Night\n\nWrote to the glazier. He answers within a day.\n")
    _write(workspace / "scripts/count.sh", b"#!/bin/sh\nwc -l exhibits.csv\n")
    (workspace / "scripts/count.sh").chmod(0o755)
    (workspace / "memory/people/volunteers.md").unlink()


def change_workspace_again(workspace: Path) -> None:
    """Change it again, so that there is an older sequence to restore."""
    memory = workspace / "MEMORY.md"
    memory.write_text(memory.read_text().replace("ten to five", "ten to six"))
    _write(workspace / "exhibits.csv", (workspace / "exhibits.csv").read_bytes() + b"1931,ship's bell,bronze\n")
    (workspace / "inbox" / "letter.txt").write_text("Dear Ada, when may we come?\n")


def _write(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def _write_config(state_dir: Path) -> None:
    config = f"""// Written by hand, with comments.
{{
  agents: {{ entries: {{ main: {{ name: "Ada", workspace: "{state_dir / "workspace"}" }} }},
            defaults: {{ model: {{ primary: "example/demo-model" }} }} }},
  models: {{ providers: {{ example: {{ baseUrl: "https://models.example.com/v1", apiKey: "{FAKE_KEY}" }} }} }},
  gateway: {{ mode: "local", auth: {{ mode: "token", token: '{FAKE_TOKEN}' }} }}, // trailing comma below
}}
"""
    for name, text in (("openclaw.json", config), (".env", f"EXAMPLE_API_KEY='{FAKE_KEY}'\n")):
        _write(state_dir / name, text.encode())
        os.chmod(state_dir / name, 0o600)


def _noise(count: int) -> bytes:
    """Return incompressible bytes, the same on every call."""
    blocks = (hashlib.sha256(str(index).encode()).digest() for index in range(count // 32 + 1))
    return b"".join(blocks)[:count]
