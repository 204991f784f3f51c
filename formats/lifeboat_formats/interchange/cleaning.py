"""The cleaning step, which every exported text passes. If it fails, the text is not written.

Findings are counted in every text. With `--redact` they are replaced by `[redacted:email]` and the like. Suspected
secrets stop the conversion unless they are redacted or the user allows them. An internal error refuses the text
(`SanitizerFailed`).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lifeboat_adapters.secrets.secret_finder import KnownSecretSearch
from lifeboat_alf.common.refusal_texts import refusal_reason
from lifeboat_formats.interchange import detectors
from lifeboat_formats.interchange.contract import FormatOption, OptionKind, Options
from lifeboat_formats.interchange.detectors import KINDS, SECRET, DetectedSpan, WordList
from lifeboat_formats.interchange.errors import InterchangeError, SanitizerFailed, SecretsFound
from lifeboat_formats.interchange.text_edits import replace_spans

REDACT, DETECT, ALLOW_SECRETS = "redact", "detect", "allow-secrets"
OPTIONS = (
    FormatOption(REDACT, "replace mail addresses, numbers, secrets with [redacted:...]", writes=True),
    FormatOption(DETECT, "a file with further words to replace, one per line", OptionKind.FILE, writes=True),
    FormatOption(ALLOW_SECRETS, "export text that looks like a secret without changes", writes=True),
)

_REDACTED = re.compile(r"\[redacted:(?:" + "|".join(KINDS) + r")\]")
_MASK = "<"
"""Replaces earlier redactions during a search. No detector matches it, so no finding can reach into them."""
_ROUNDS = 16
"""Limit of redaction rounds. A redaction can expose another finding, but hardly ever twice in a row."""
_DEEPEST = 64
"""Deepest nesting of a JSON value. Records have far fewer levels."""
_SHORT, _REMEMBERED = 64, 4096
"""Limits of the cache of harmless texts: characters of a text, and number of texts. Field names, types and tags repeat
with every memory."""
_MOST_LISTED = 100_000
"""Most lines in a user's word list."""


@dataclass(frozen=True, slots=True)
class CleanedText:
    """A cleaned text. `found` counts findings by pattern and never holds them."""

    text: str
    is_transformed: bool
    found: Mapping[str, int]


@dataclass(slots=True)
class Cleaner:
    """The cleaning of one conversion. `counts` adds up findings by kind, of `detectors.KINDS`."""

    redacts: bool = False
    allows_secrets: bool = False
    words: WordList = field(default_factory=lambda: WordList(()))
    known: KnownSecretSearch | None = None
    counts: Counter[str] = field(default_factory=Counter)
    _harmless: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, options: Options, known_secrets: Iterable[str] = ()) -> Cleaner:
        """Create a cleaner from the user's options. `known_secrets` are values of the agent's credentials.

        Raises InterchangeError for an unreadable word list.
        """
        listed = options.get(DETECT)
        words = WordList(read_word_list(Path(listed))) if isinstance(listed, str) and listed else WordList(())
        return cls(
            redacts=options.get(REDACT) is True,
            allows_secrets=options.get(ALLOW_SECRETS) is True,
            words=words,
            known=KnownSecretSearch(known_secrets),
        )

    def clean(self, text: str, *, where: str = "") -> str:
        """Return the cleaned text. `where` names it in errors by an id or a field, never by content.

        Raises SecretsFound, and SanitizerFailed for internal errors.
        """
        return self.cleaned(text, where=where).text

    def cleaned(self, text: str, *, where: str = "") -> CleanedText:
        """Clean a text like `clean`, and return what was found in it."""
        if text in self._harmless:
            return CleanedText(text, False, {})
        try:
            clear, found = self._redacted(text)
        except Exception as error:
            # Not chained, because the error may quote the text.
            raise SanitizerFailed(
                f"{where or 'a text'} was not exported, because the search for secrets failed ({type(error).__name__})"
            ) from None
        secrets = [each for each in found if each.kind == SECRET]
        if secrets and not (self.redacts or self.allows_secrets):
            kinds = ", ".join(sorted({each.pattern for each in secrets}))
            message = f"{where or 'a text'} contains text that looks like a secret ({kinds})"
            raise SecretsFound(f"{message}. If the text is not secret, use --allow-secrets").with_again("--redact")
        if not found and len(text) <= _SHORT:
            self._remember(text)
        self.counts.update(each.kind for each in found)
        result = clear if self.redacts else text
        return CleanedText(result, result != text, Counter(each.pattern for each in found))

    def clean_value(self, value: Any, *, where: str = "") -> Any:
        """Return a JSON value with every text cleaned, including field names. Raises the errors of `clean`."""
        return self._value(value, where, 0)

    def _remember(self, text: str) -> None:
        """Cache a harmless text. A full cache is emptied, so that unique texts cannot keep repeated ones out."""
        if len(self._harmless) >= _REMEMBERED:
            self._harmless.clear()
        self._harmless.add(text)

    def figures(self) -> dict[str, int]:
        """Return the number of findings of each kind, for a receipt."""
        return {f"found_{kind}": self.counts[kind] for kind in KINDS}

    def _value(self, value: Any, where: str, depth: int) -> Any:
        if depth > _DEEPEST:
            raise SanitizerFailed(
                f"{where or 'a value'} was not exported, because it is nested more than {_DEEPEST} levels deep"
            )
        if isinstance(value, str):
            return self.clean(value, where=where)
        if isinstance(value, list | tuple):
            return [self._value(each, where, depth + 1) for each in value]
        if isinstance(value, dict):
            return {self.clean(name, where=where): self._value(each, where, depth + 1) for name, each in value.items()}
        return value

    def _redacted(self, text: str) -> tuple[str, list[DetectedSpan]]:
        """Redact a text until nothing is found in it. Allowed secrets are counted and kept."""
        # Allowed secrets are counted once, before redaction changes the text.
        everything = self._secrets(text) if self.allows_secrets else []
        for _ in range(_ROUNDS):
            found = self._find(text)
            if not found:
                return text, everything
            everything.extend(found)
            text = replace_spans(text, ((each.start, each.end, f"[redacted:{each.kind}]") for each in found))
        raise RuntimeError("the search for secrets found too many matches in one text")

    def _find(self, text: str) -> list[DetectedSpan]:
        masked = _REDACTED.sub(lambda hit: _MASK * len(hit[0]), text) if "[redacted:" in text else text
        found = [
            *([] if self.allows_secrets else self._secrets(masked)),
            *detectors.find_emails(masked),
            *detectors.find_numbers(masked),
            *self.words.find(masked),
        ]
        return detectors.merge_overlaps(found)

    def _secrets(self, text: str) -> list[DetectedSpan]:
        return detectors.merge_overlaps(detectors.find_secrets(text, self.known))


def read_word_list(path: Path) -> list[str]:
    """Read a user's word list, one entry per line, without empty lines. Raises InterchangeError."""
    try:
        lines = path.read_text("utf-8-sig").splitlines()
    except (OSError, ValueError) as error:
        raise InterchangeError(
            f"{path}: {refusal_reason(error)}", fix="give a text file with one word or name per line"
        ) from error
    entries = [line.strip() for line in lines if line.strip()]
    if len(entries) > _MOST_LISTED:
        raise InterchangeError(f"{path} contains more than {_MOST_LISTED:,} words", fix="a shorter list")
    for entry in entries:
        if not any(char.isalnum() for char in entry):
            line = next(nth for nth, each in enumerate(lines, 1) if each.strip() == entry)
            raise InterchangeError(
                f"line {line} of {path} contains no letter or digit", fix="write one word or name in each line"
            )
    return entries
