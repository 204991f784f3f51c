"""What can be done on a screen: the one list from which keys, footer, palette, help and documentation are made."""

from __future__ import annotations

from dataclasses import dataclass

from textual.binding import Binding

READ_ONLY = "this dashboard only looks (--readonly)"
_NAMES = {
    "escape": "esc",
    "enter": "enter",
    "space": "space",
    "question_mark": "?",
    "slash": "/",
    "left_square_bracket": "[",
    "right_square_bracket": "]",
    "up": "↑",
    "down": "↓",
    "left": "←",
    "right": "→",
}


@dataclass(frozen=True, slots=True)
class Act:
    """Something a person can do. `name` is that of the method `do_<name>` on the screen (or the app), `key` Textual's
    name of the key, `label` a word or two for the footer, `help` a sentence. `writes`: it changes something, so
    `--readonly` refuses it. `footer`: it is one of the few that are always shown."""

    name: str
    key: str
    label: str
    help: str
    footer: bool = False
    writes: bool = False

    @property
    def key_text(self) -> str:
        """The key as people read it."""
        return _NAMES.get(self.key) or self.key.replace("ctrl+", "^")

    @property
    def binding(self) -> Binding:
        return Binding(self.key, f"act('{self.name}')", self.label, show=False)


EVERYWHERE = (
    Act("help", "question_mark", "help", "What this screen is for, and every key of it", footer=True),
    Act("back", "escape", "back", "Back to where you came from; first it clears a filter"),
    Act("copy", "y", "copy command", "Copy the command that shows the same in a shell"),
    Act("jump", "ctrl+o", "jump", "Letters appear over the parts of the screen: type one to go there"),
    Act("reload", "ctrl+r", "look again", "Ask again for what is shown"),
)
"""Of every screen."""
PLACES = (
    Act("go_dashboard", "1", "dashboard", "All agents at a glance"),
    Act("go_timeline", "2", "timeline", "Every kept moment of the agent that is chosen"),
    Act("go_activity", "3", "activity", "What was done with the agents, and when"),
    Act("go_keys", "4", "keys", "The key that opens the credentials, and its words"),
    Act("go_settings", "5", "settings", "Every setting, with its source and its effect"),
    Act("go_memories", "6", "memories", "What the agent that is chosen remembers"),
    Act("go_remotes", "7", "second copies", "Endpoints and folders that hold copies"),
    Act("go_doctor", "8", "doctor", "What could go wrong, checked, with the command that helps"),
    Act("start_daemon", "S", "start service", "Start the service when it does not run", writes=True),
    Act("quit", "q", "close", "Close the dashboard; the service goes on"),
)
"""Of the app: they work everywhere but in dialogs."""
