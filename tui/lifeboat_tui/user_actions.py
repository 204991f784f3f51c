"""Actions of a screen: the single list that keys, footer, palette, help and documentation are made from."""

from __future__ import annotations

from dataclasses import dataclass

from textual.binding import Binding

READ_ONLY = "not possible, because the dashboard runs with --readonly"
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
    something, so `--readonly` refuses it. `footer`: the footer always shows it. `tab` is the name in the title bar of a
    narrow terminal; actions without one are no tab."""

    name: str
    key: str
    label: str
    help: str
    footer: bool = False
    writes: bool = False
    tab: str = ""

    @property
    def key_text(self) -> str:
        """Return the key as users read it."""
        return _NAMES.get(self.key) or self.key.replace("ctrl+", "^")

    @property
    def binding(self) -> Binding:
        return Binding(self.key, f"act('{self.name}')", self.label, show=False)


EVERYWHERE = (
    UserAction("help", "question_mark", "help", "Show what this screen is for, and all its keys", footer=True),
    UserAction("back", "escape", "back", "Clear the filter; if no filter is set, go back to the previous screen"),
    UserAction("copy", "y", "copy command", "Copy the command that shows the same in a shell"),
    UserAction("jump", "ctrl+o", "jump", "Show a letter on each part of the screen; type a letter to go to its part"),
    UserAction("reload", "ctrl+r", "reload", "Reload the data of this screen"),
)
"""Actions of every screen."""
PLACES = (
    UserAction("go_dashboard", "1", "dashboard", "All agents and their state", tab="agents"),
    UserAction("go_timeline", "2", "timeline", "All captured sequences of the selected agent", tab="timeline"),
    UserAction("go_activity", "3", "activity", "Events: captures, pushes, restores and purges", tab="log"),
    UserAction("go_keys", "4", "keys", "Your key and its recovery words", tab="keys"),
    UserAction("go_settings", "5", "settings", "All settings, with their source and effect", tab="config"),
    UserAction("go_memories", "6", "memories", "Memories of the selected agent", tab="memory"),
    UserAction("go_remotes", "7", "remotes", "Servers and folders to which your agents are pushed", tab="remotes"),
    UserAction("go_doctor", "8", "doctor", "Check this installation, and show how to fix each finding", tab="doctor"),
    UserAction("start_daemon", "S", "start daemon", "Start the daemon if it is not running", writes=True),
    UserAction("quit", "q", "quit", "Close the dashboard; the daemon keeps running"),
)
"""Actions of the app. They work everywhere except in dialogs."""
TABS = tuple(act for act in PLACES if act.tab)
"""The main screens, in the order of their keys."""
