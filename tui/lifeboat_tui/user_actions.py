"""Actions of a screen: the single list that keys, footer, palette, help and documentation are made from."""

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
class UserAction:
    """Action that the user can start. `name` names the method `do_<name>` on the screen or the app, `key` is Textual's
    name of the key, `label` is a word or two for the footer, `help` is a sentence. `writes`: the action changes
    something, so `--readonly` refuses it. `footer`: the footer always shows it."""

    name: str
    key: str
    label: str
    help: str
    footer: bool = False
    writes: bool = False

    @property
    def key_text(self) -> str:
        """Return the key as users read it."""
        return _NAMES.get(self.key) or self.key.replace("ctrl+", "^")

    @property
    def binding(self) -> Binding:
        return Binding(self.key, f"act('{self.name}')", self.label, show=False)


EVERYWHERE = (
    UserAction("help", "question_mark", "help", "What this screen is for, and every key of it", footer=True),
    UserAction("back", "escape", "back", "Back to where you came from; first it clears a filter"),
    UserAction("copy", "y", "copy command", "Copy the command that shows the same in a shell"),
    UserAction("jump", "ctrl+o", "jump", "Letters appear over the parts of the screen: type one to go there"),
    UserAction("reload", "ctrl+r", "look again", "Ask again for what is shown"),
)
"""Actions of every screen."""
PLACES = (
    UserAction("go_dashboard", "1", "dashboard", "All agents at a glance"),
    UserAction("go_timeline", "2", "timeline", "Every kept moment of the agent that is chosen"),
    UserAction("go_activity", "3", "activity", "What was done with the agents, and when"),
    UserAction("go_keys", "4", "keys", "The key that opens the credentials, and its words"),
    UserAction("go_settings", "5", "settings", "Every setting, with its source and its effect"),
    UserAction("go_memories", "6", "memories", "What the agent that is chosen remembers"),
    UserAction("go_remotes", "7", "second copies", "Endpoints and folders that hold copies"),
    UserAction("go_doctor", "8", "doctor", "What could go wrong, checked, with the command that helps"),
    UserAction("start_daemon", "S", "start service", "Start the service when it does not run", writes=True),
    UserAction("quit", "q", "close", "Close the dashboard; the service goes on"),
)
"""Actions of the app. They work everywhere except in dialogs."""
