"""The events in the invented home, and the commands that are recorded at the end.

A screen that shows the answer of another command adds a line to `record_everything`.
"""

from __future__ import annotations

import itertools
import json
from datetime import timedelta

from support.tui.recorder import Story

ADA, BOOKKEEPER, COURIER, RESEARCHER = (
    f".openclaw-{name}/workspace" for name in ("ada", "bookkeeper", "courier", "researcher")
)
NOTES = (
    "The harbour office opens at seven.",
    "Mira takes her tea without sugar.",
    "The red boat needs a new rudder before spring.",
    "Invoices of the surveying company go out on Fridays.",
    "The tile server is restarted after each update.",
    "The passport of the canary is kept in the blue folder.",
)


PURGED = "passport of the canary"
"""Text of the last note. It can be guessed, so the wizard offers to keep a fingerprint of it."""


def live_and_record(story: Story) -> None:
    _found(story)
    _live(story)
    record_everything(story)
    record_changed_memories(story)
    record_restores(story)
    record_timeline_acts(story)
    record_purges(story)
    record_care(story)


def _workspace(story: Story, folder: str, name: str) -> None:
    story.write(f"{folder}/SOUL.md", f"# Soul\n\nYou are {name}. Be kind, be exact.\n")
    story.write(f"{folder}/IDENTITY.md", f"# IDENTITY.md\n\n- **Name:** {name.capitalize()}\n- **Role:** helper\n")
    story.write(f"{folder}/AGENTS.md", "# AGENTS.md\n\n## Every session\n\nRead the notes of yesterday.\n")
    facts = "\n\n".join(f"## Fact {number}\n\n{note}" for number, note in enumerate(NOTES, 1))
    story.write(f"{folder}/MEMORY.md", f"# Memory\n\n{facts}\n")
    story.write(f"{folder}/USER.md", "# USER.md\n\n- **Name:** Mira Example\n- **Time zone:** UTC\n")


def _found(story: Story) -> None:
    for folder, name in ((ADA, "ada"), (BOOKKEEPER, "bookkeeper"), (COURIER, "courier"), (RESEARCHER, "researcher")):
        _workspace(story, folder, name)
        story.run("agents", "add", str(story.folder / folder), "--name", name)
    stick = story.folder / "media/stick/lifeboat"
    stick.mkdir(parents=True)
    story.run("remote", "add", "stick", stick.as_uri())


def _live(story: Story) -> None:
    for day in range(14):
        for hour in range(9, 18, 3):
            story.wait(hours=3 if hour > 9 else 15)
            today = story.clock.now().strftime("%Y-%m-%d")
            story.append(f"{ADA}/memory/{today}.md", f"- {hour}:00 {NOTES[(day + hour) % len(NOTES)]}\n")
            if hour == 12:
                story.append(f"{ADA}/MEMORY.md", f"\n## Day {day}\n\n{NOTES[day % len(NOTES)]}\n")
                story.append(f"{BOOKKEEPER}/memory/{today}.md", f"- {NOTES[(day + 3) % len(NOTES)]}\n")
                story.append(f"{COURIER}/memory/{today}.md", f"- Letter {day} was delivered.\n")
                story.append(f"{RESEARCHER}/notes/{today}.md", f"# Reading of day {day}\n\n{NOTES[day % len(NOTES)]}\n")
            story.run("sync")
    story.write(f"{ADA}/skills/inbox/SKILL.md", "# Inbox\n\nSort letters by sender.\n" + "Rule.\n" * 80)
    story.run("sync")
    for name in ("ada", "bookkeeper", "researcher"):
        story.run("verify", name)
    story.run("label", "ada", "20", "before the spring plans")
    story.wait(minutes=20)
    story.write(f"{RESEARCHER}/MEMORY.md", "# Memory\n")  # a template overwrites the memory: the capture is held
    story.run("sync", "researcher")
    story.run("agents", "pause", "courier")
    story.wait(minutes=4)
    story.append(f"{ADA}/MEMORY.md", "\n## Today\n\nThe letter to the harbour office is written.\n")
    story.run("sync", "ada")
    story.run("verify", "ada")
    story.append(f"{ADA}/MEMORY.md", "\n## Not captured yet\n\nThe workspace is ahead of its copy.\n")
    story.wait(minutes=3)


def record_everything(story: Story) -> None:
    """Record every command that a screen shows."""
    status = story.record("status")
    ids = {each["name"]: each["id"] for each in status["agents"]}
    for agent_id in ids.values():
        story.record("log", agent_id)
        story.record("timeline", agent_id)
        story.record("agents", "show", agent_id)
        newest = story.run("timeline", agent_id)["entries"]
        numbers = [entry["sequence"] for entry in newest]
        for late, early in itertools.pairwise(numbers):
            story.record("diff", agent_id, str(early), str(late))
        story.record("diff", agent_id)
    ada = ids["ada"]
    _record_timeline(story, ada)
    for agent_id in ids.values():
        story.record("verify", agent_id, progress=READING)
    _record_previews(story, ids)
    story.record("search", ada, "harbour")
    story.record("log")
    _record_memories(story, ids)
    _record_logs(story)
    story.record("keys", "status")
    story.record("remote", "list")
    story.record("config", "list")
    _record_places(story, ids)
    story.record("doctor", progress=[{"text": "Examining"}])
    story.record("agents", "discover")
    story.record("setup")


READING = [{"text": "Reading every byte back", "done": done, "total": 8, "rate": 4.0} for done in range(9)]


def _record_timeline(story: Story, ada: str) -> None:
    """Record the timeline, the actions on it, and the comparison of two sequences."""
    story.record("timeline", ada, "--days", "60")
    story.record("diff", ada, "20", "44")
    story.record("diff", ada, "44", "workspace")
    for words in ("harbour", "rudder", "letter", "canary"):
        story.record("search", ada, words, "--history")


def record_timeline_acts(story: Story) -> None:
    """Record the actions on a timeline."""
    for agent in story.run("status")["agents"]:
        sequence = str(agent["sequence"])
        sync = ("sync", agent["id"])
        story.record(*sync, progress=[{"text": "Sending what is new", "done": done, "total": 3} for done in range(4)])
        for more in (("a name",), ("--remove",)):
            story.record("label", agent["id"], sequence, *more, as_words=("label", agent["id"]))


def record_purges(story: Story) -> None:
    """Record the purge wizard and the receipts. They come last because they really destroy data."""
    ids = [each["id"] for each in story.run("status")["agents"]]
    for agent_id in ids:
        words = ("purge", agent_id, "--dry-run")
        story.record(*words, "--text-stdin", text=PURGED, as_words=words)
        story.record(*words, "--text-stdin", "--keep-print", text=PURGED)
        story.record("purge", agent_id, "--dry-run", "--all")
    looking = {"text": "Destroying the purged data in the histories", "done": 0, "total": 4}
    progress = [{**looking, "done": done, "rate": 2.0, "seconds_left": 2 - done / 2} for done in range(5)]
    for agent_id in ids:
        words = ("purge", agent_id, "--yes")
        done = story.record(*words, "--text-stdin", text=PURGED, as_words=words, progress=progress)
        story.record("receipts", "show", done["receipt"])
        if agent_id == ids[0]:
            _record_receipt(story, agent_id, done["receipt"])
        for more in (("--dry-run",), ()):
            story.record("purge", agent_id, "--let-in", *more)
    for agent_id in ids:
        done = story.record("purge", agent_id, "--yes", "--all", progress=progress)
        story.record("receipts", "show", done["receipt"])


def _record_receipt(story: Story, agent_id: str, receipt: str) -> None:
    """Record the actions on a receipt."""
    file = str(story.folder / "receipt.json")
    story.record("receipts", "list")
    story.record("receipts", "show", receipt, "--audit")
    story.record("receipts", "export", receipt, "-o", file, as_words=("receipts", "export", receipt))
    story.record("receipts", "verify", file, as_words=("receipts", "verify"))
    story.record("purge", agent_id, "--kept-out", "--dry-run")
    story.record("purge", agent_id, "--kept-out", "--yes")


# Keys, remotes, settings ----------------------------------------------------------------------------------------------

A_MOMENT = [
    {"text": "Asking it who it is", "done": done, "total": 4, "rate": 2.0, "seconds_left": 2 - done / 2}
    for done in range(5)
]


def _record_places(story: Story, ids: dict[str, str]) -> None:
    """Record the content of these screens except `keys status`, `remote list` and `config list`."""
    for agent_id in ids.values():
        story.record("config", "list", agent_id)
    story.record("agents", "list", "--remote", "stick")
    for agent_id in ids.values():
        words = ("agents", "adopt", agent_id, "--from", "stick", "--dry-run")
        story.record(*words, progress=A_MOMENT)


def record_care(story: Story) -> None:
    """Record the actions of these screens after everything else, because they change keys, remotes and settings."""
    share = story.folder / "media/share"
    share.mkdir()
    add = ("remote", "add", "share", share.as_uri())
    story.record(*add, "--dry-run", as_words=add[:2])
    story.record(*add, as_words=add[:2])
    story.record("remote", "test", "stick", "--quick", as_words=("remote", "test"), progress=A_MOMENT)
    story.record("remote", "remove", "share", "--yes", as_words=("remote", "remove"))
    for one in story.run("config", "list")["settings"]:
        for value in one["choices"]:
            story.record("config", "set", one["name"], value)
        given = ("--stdin",) if one["private"] else (one["example"],)
        for command in ("check", "set"):
            words = ("config", command, one["name"])
            story.record(*words, *given, text=f"{one['example']}\n", as_words=words)
        story.record("config", "set", one["name"], "--default")
    story.record("keys", "unlock", as_words=("keys", "unlock"))
    story.record("keys", "lock")
    story.record("keys", "export-kit", "-o", str(story.folder / "lifeboat-kit.txt"), as_words=("keys", "export-kit"))
    story.record_text("keys", "export-kit", "-o", "-", text=INVENTED_WORDS)
    story.record_text("keys", "init", "--words-to", "-", "--no-prove", text=" ".join(["abandon"] * 23 + ["art"]))
    machine = story.run("keys", "status")["machines"][0]["id"]
    story.record("keys", "rename-machine", machine, "workbench", as_words=("keys", "rename-machine"))
    words_to = story.folder / "lifeboat-words.txt"
    rotate = ("keys", "rotate", "--words-to", str(words_to), "--no-prove", "--yes")
    story.record(*rotate, as_words=rotate[:2], progress=[{**one, "text": "Replacing the key"} for one in A_MOMENT])
    proof = story.run("keys", "prove", "--words-from", str(words_to))
    story.answers.append({"words": ["keys", "prove"], "status": 0, "document": proof})


INVENTED_WORDS = "\n".join(f"{place:>6}. {'abandon' if place < 24 else 'art'}" for place in range(1, 25))
"""Words that belong to no key."""


# Memories, activity, doctor -------------------------------------------------------------------------------------------

NOTED = (
    ("info", "started", {"pid": 4711, "release": "0.1.0"}),
    ("info", "captured", {"agent": "ada", "sequence": 43, "reason": "changed"}),
    ("info", "pushed", {"agent": "ada", "bytes": 2140}),
    ("warning", "push_failed", {"agent": "courier", "code": "offline"}),
    ("info", "woke", {"slept": 3600, "jumped": 0}),
    ("error", "capture_failed", {"agent": "researcher", "code": "busy"}),
    ("info", "verified", {"agent": "ada", "whole": False, "deferred": False}),
)
"""Events of the service: level, kind, fields; `agent` by name."""


def _record_memories(story: Story, ids: dict[str, str]) -> None:
    """Record the memories of each agent with every filter, and each single memory."""
    for agent_id in ids.values():
        words = ("records", "list", agent_id)
        page = story.record(*words)
        for memory in (*page["records"], *story.record(*words, "--status", "deleted")["records"]):
            story.record("records", "show", agent_id, memory["id"])
        for status in page["statuses"]:
            if status != "deleted":
                story.record(*words, "--status", status)
        for kind in page["types"]:
            story.record(*words, "--type", kind)
        for version in page["identity_versions"]:
            story.record(*words, "--identity-version", version)
    story.record("records", "list", ids["ada"], "--words", "harbour")


def _record_logs(story: Story) -> None:
    """Record the log by kind, and the events of the service."""
    everything = story.record("log", "--limit", "300")
    for kind in dict.fromkeys(entry["kind"] for entry in everything["entries"]):
        story.record("log", "--limit", "300", "--kind", kind)
    _note(story)
    lines = ("daemon", "log", "--lines", "300")
    story.record(*lines)
    for level in ("info", "warning", "error"):
        story.record(*lines, "--level", level)
    file = str(story.folder / "lifeboat-report.zip")
    story.record("doctor", "--bundle", file, as_words=("doctor", "--bundle"))


def _note(story: Story) -> None:
    """Write the log of a service that never ran, because the story's time is invented."""
    ids = {each["name"]: each["id"] for each in story.run("status")["agents"]}
    lines = []
    for back, (level, kind, fields) in zip(range(70, 0, -10), NOTED, strict=True):
        moment = story.clock.now() - timedelta(minutes=back)
        named = {name: ids[value] if name == "agent" else value for name, value in fields.items()}
        lines.append(json.dumps({"time": moment.isoformat(), "level": level, "kind": kind, **named}))
    log = story.folder / ".local/share/lifeboat/logs/daemon.log"
    log.parent.mkdir(mode=0o700, exist_ok=True)
    log.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    log.chmod(0o600)


def record_changed_memories(story: Story) -> None:
    """Record the actions on one memory and their reversal."""
    ada = next(each["id"] for each in story.run("status")["agents"] if each["name"] == "ada")
    memory = story.run("records", "list", ada, "--limit", "1")["records"][0]["id"]
    for command in ("pin", "unpin", "forget", "restore"):
        story.record("records", command, ada, memory, as_words=("records", command))


# The restore wizard ---------------------------------------------------------------------------------------------------

RESTORING = (
    {"text": "Restoring", "done": 0},
    *({"text": "Writing files", "done": done, "total": 19, "rate": 12.0, "seconds_left": (19 - done) / 12}
      for done in range(0, 20, 3)),
    {"text": "Moving the restored files into place", "done": 1, "total": 2, "rate": 4.0, "seconds_left": 0.25},
)  # fmt: skip
"""Progress of a restore."""


def _record_previews(story: Story, ids: dict[str, str]) -> None:
    """Record the previews of a restore, for each agent and for the newest sequences of one."""
    story.record("agents", "list")
    story.record("agents", "list", "--remote", "stick")
    for agent_id in ids.values():
        story.record("restore", agent_id, "--dry-run")
    for name in ("ada", "researcher"):
        for entry in story.run("timeline", ids[name])["entries"][:8]:
            story.record("restore", ids[name], "--dry-run", "--at", str(entry["sequence"]))
    story.record("restore", ids["ada"], "--dry-run", "--from", "stick")


def record_restores(story: Story) -> None:
    """Record real restores and their undo."""
    ids = {each["name"]: each["id"] for each in story.run("status")["agents"]}
    for name, agent_id in ids.items():
        numbers = [entry["sequence"] for entry in story.run("timeline", agent_id)["entries"]]
        done = ("restore", agent_id, "--yes", "--at", str(numbers[1]))
        document = story.record(*done, as_words=("restore", agent_id, "--yes"), progress=RESTORING)
        if document.get("undo"):
            story.record("undo", agent_id, progress=RESTORING[-1:])
        assert "error" not in document, (name, document)
