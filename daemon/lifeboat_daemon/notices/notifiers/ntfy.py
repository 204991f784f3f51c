"""An ntfy topic (`ntfy.url`), for example on a phone. Everyone who knows the address can read it, so it is never
displayed."""

from __future__ import annotations

import base64

from lifeboat_core.health.agent_status import ERROR, HELD, OK
from lifeboat_core.home.context import Context
from lifeboat_core.network import http_requests
from lifeboat_daemon.notices.notice_rules import OFFER, UserNotice

SETTING = "ntfy.url"
_HIGH, _NORMAL, _LOW = "4", "3", "2"
_TAGS = {ERROR: "rotating_light", HELD: "raised_hand", OK: "white_check_mark", OFFER: "sailboat"}


class NtfyNotifier:
    """Notifies through ntfy; see the module."""

    def is_wanted(self, context: Context) -> bool:
        return bool(context.setting(SETTING))

    def problem(self, context: Context) -> str | None:
        """Return None: an address can only be tested by writing to it."""
        return None

    def tell(self, context: Context, notice: UserNotice) -> None:
        """Send the notice. Raises Unreachable, AnsweredWithError, after a few tries."""
        address = str(context.setting(SETTING))
        text = notice.text if notice.fix is None else f"{notice.text}\nTo fix it: {notice.fix}"
        headers = {
            "Title": _header(notice.title),
            "Priority": _priority(notice),
            "Tags": _TAGS.get(notice.kind, "warning"),
        }
        http_requests.retry_request(
            lambda: http_requests.send_request("POST", address, headers=headers, content=text.encode())
        )


def _priority(notice: UserNotice) -> str:
    if notice.kind in (ERROR, HELD):
        return _HIGH
    return _NORMAL if notice.is_urgent else _LOW


def _header(text: str) -> str:
    """Encode a text as a header: one line, in RFC 2047 (which ntfy decodes) if it is not ASCII."""
    line = " ".join("".join(each if each.isprintable() else " " for each in text).split())
    return line if line.isascii() else f"=?UTF-8?B?{base64.b64encode(line.encode()).decode()}?="


NOTIFIER = NtfyNotifier()
