"""A language model for tests: speaks the chat-completions protocol on loopback and writes down what it was asked.

    python mock_model.py PORT LOG

A message that says `MEMQ: words` makes it call the agent's memory search, `REMEMBER: text` the tool with which Hermes
writes a memory; anything else is answered by an echo.
Standard library only: it runs outside the project's environment, inside a network namespace.
"""

from __future__ import annotations

import json
import re
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from lifeboat_alf.common.json_types import JsonObject


def text_of(message: JsonObject) -> str:
    content = message.get("content")
    if isinstance(content, str):
        return content
    return " ".join(part.get("text", "") for part in content or [] if isinstance(part, dict))


def last_user_text(messages: list[JsonObject]) -> str:
    """Return the text of the trailing user messages (a runtime may split one turn into several)."""
    texts: list[str] = []
    for message in reversed(messages):
        if message.get("role") != "user":
            break
        texts.insert(0, text_of(message))
    return "\n".join(texts)


def tool_call(text: str) -> JsonObject | None:
    query, fact = re.search(r"MEMQ:([^|\n]+)", text), re.search(r"REMEMBER:([^|\n]+)", text)
    if query is not None:
        arguments = {"id": "memory_search", "args": {"query": query.group(1).strip()}}
        function = {"name": "tool_call", "arguments": json.dumps(arguments)}
    elif fact is not None:
        arguments = {"action": "add", "target": "memory", "content": fact.group(1).strip()}
        function = {"name": "memory", "arguments": json.dumps(arguments)}
    else:
        return None
    return {"index": 0, "id": "call_1", "type": "function", "function": function}


def answer(messages: list[JsonObject]) -> tuple[JsonObject, str]:
    """Return the assistant's message and the reason why it stopped."""
    text = last_user_text(messages)
    call = tool_call(text)
    if call is not None:
        return {"role": "assistant", "tool_calls": [call]}, "tool_calls"
    return {"role": "assistant", "content": f"I have read: {text[:1000]}"}, "stop"


class Model(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    log: Path

    def log_message(self, format: str, *arguments: object) -> None:
        """Log nothing."""

    def do_GET(self) -> None:
        self._send({"object": "list", "data": [{"id": "mock-1", "object": "model"}]})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("content-length") or 0)) or b"{}")
        with self.log.open("a") as log:
            log.write(json.dumps({"path": self.path, "body": body}) + "\n")
        message, reason = answer(body.get("messages", []))
        if body.get("stream"):
            self._stream(body, message, reason)
        else:
            self._send(_completion(body, "chat.completion", {"message": message, "finish_reason": reason}))

    def _send(self, value: JsonObject) -> None:
        data = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _stream(self, body: JsonObject, message: JsonObject, reason: str) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        for choice in ({"delta": message, "finish_reason": None}, {"delta": {}, "finish_reason": reason}):
            event = _completion(body, "chat.completion.chunk", choice)
            self.wfile.write(b"data: " + json.dumps(event).encode() + b"\n\n")
        self.wfile.write(b"data: [DONE]\n\n")
        self.close_connection = True


def _completion(body: JsonObject, kind: str, choice: JsonObject) -> JsonObject:
    return {
        "id": "chatcmpl-1",
        "object": kind,
        "created": int(time.time()),
        "model": body.get("model"),
        "choices": [{"index": 0, **choice}],
        "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15},
    }


def main() -> None:
    port, log = sys.argv[1:]
    Model.log = Path(log)
    ThreadingHTTPServer(("127.0.0.1", int(port)), Model).serve_forever()


if __name__ == "__main__":
    main()
