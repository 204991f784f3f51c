"""Sentences for people on how many machines may write to a store."""

from __future__ import annotations

from lifeboat_core.remotes.contract import ONE, SEVERAL, RemoteConfig
from lifeboat_core.remotes.probed_store.store_words import StoreWords


def describe_several(config: RemoteConfig, words: StoreWords) -> list[str]:
    """Return why several machines may write to the remote, nothing if they may not."""
    if config.writers != SEVERAL:
        return []
    return [
        f"Several machines may write to the {words.place} at the same time, because the {words.store} refuses to "
        f"replace {words.one} that another machine has changed."
    ]


def describe_turns(config: RemoteConfig, words: StoreWords) -> list[str]:
    """Return why machines take turns, nothing if they need not."""
    if config.writers != ONE:
        return []
    return [
        f"One machine at a time may write to the {words.place}, because the {words.store} also replaces {words.one} "
        "that another machine has changed. To write an agent from another machine, take it over: lifeboat agents adopt "
        "AGENT"
    ]
