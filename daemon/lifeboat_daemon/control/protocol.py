"""What is said over the control socket (JSON-RPC 2.0, one message a line, at most `LARGEST` bytes each).

The first request is `hello`. Requests have an `id` and are answered; what the daemon tells unasked, to clients that
called `subscribe`, are notifications with the method `event`.
"""

from __future__ import annotations

from typing import Any

JsonObject = dict[str, Any]

PROTOCOL = 1
"""Goes up when a client of an earlier one would misunderstand an answer. New methods and fields leave it."""
LARGEST = 16 * 1024 * 1024
"""Bytes of one message."""
EVENT = "event"

PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMETERS, INTERNAL = -32700, -32600, -32601, -32602, -32603
FAILED = -32000
"""The method ran and failed: `data` holds the error as `--json` gives it (code, title, message, fix, retryable)."""
