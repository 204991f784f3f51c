"""A language model for tests: speaks the chat-completions protocol, the Messages API of Claude Code, the Responses API
of Codex and the protocol of Gemini CLI on loopback, and writes down what it was asked.

    python mock_model.py PORT LOG

A message that says `MEMQ: words` makes it call the agent's memory search, `REMEMBER: text` the tool with which Hermes
writes a memory; Claude Code, Gemini CLI and others write one with their tool for files, into `IN: path` if they name
none (`REMEMBER: text| IN: path`). Codex runs `RUN: command`, and keeps `GOAL: words`. Claude Code calls the tool of
`CALL: name {arguments}`.
Anything else is answered by an echo.
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

_WAITING = "WaitForMcpServers"
GOOSE = "memory__remember_memory"
"""The tool with which goose writes a memory."""


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


def file_call(text: str, tools: list[JsonObject], fact: str) -> JsonObject | None:
    """Return the call that writes a memory into a named file, None for a runtime with a tool for memories."""
    place = re.search(r"IN: ([^|\s\"]+)", text)
    names = {tool["function"]["name"] for tool in tools} & {"write", "write_file"}
    if place is None or not names:
        return None
    path = {"write": "filePath", "write_file": "path"}
    [name] = names
    return {"name": name, "arguments": json.dumps({path[name]: place[1], "content": f"- {fact}\n"})}


def tool_call(text: str, tools: list[JsonObject]) -> JsonObject | None:
    query, fact = re.search(r"MEMQ:([^|\n]+)", text), re.search(r"REMEMBER:([^|\n]+)", text)
    if query is not None:
        arguments = {"id": "memory_search", "args": {"query": query.group(1).strip()}}
        function = {"name": "tool_call", "arguments": json.dumps(arguments)}
    elif fact is not None:
        arguments = {"action": "add", "target": "memory", "content": fact.group(1).strip()}
        function = {"name": "memory", "arguments": json.dumps(arguments)}
        if GOOSE in {tool["function"]["name"] for tool in tools}:
            kept = {"category": "boats", "data": fact.group(1).strip(), "tags": ["boats"], "is_global": True}
            function = {"name": GOOSE, "arguments": json.dumps(kept)}
        function = file_call(text, tools, fact.group(1).strip()) or function
    else:
        return None
    return {"index": 0, "id": "call_1", "type": "function", "function": function}


def answer(messages: list[JsonObject], tools: list[JsonObject]) -> tuple[JsonObject, str]:
    """Return the assistant's message and the reason why it stopped."""
    text = last_user_text(messages)
    call = tool_call(text, tools) if tools else None  # without tools it is asked for a title
    if call is not None:
        return {"role": "assistant", "tool_calls": [call]}, "tool_calls"
    return {"role": "assistant", "content": f"I have read: {text[:1000]}"}, "stop"


def message_of(body: JsonObject) -> tuple[JsonObject, JsonObject, str]:
    """Return the block with which the Messages API answers, its delta, and the reason why the model stopped."""
    asked = [message for message in body["messages"] if message.get("role") == "user"]
    called = _named_call(body, asked)
    if called is not None:
        call = {"type": "tool_use", "id": f"toolu_{len(body['messages'])}", "name": called[0], "input": {}}
        return call, {"type": "input_json_delta", "partial_json": called[1]}, "tool_use"
    fact = re.search(r"REMEMBER:([^|\n]+)", text_of(asked[-1]))
    if fact is None:
        text = f"I have read: {text_of(asked[-1])[:1000]}"
        return {"type": "text", "text": ""}, {"type": "text_delta", "text": text}, "end_turn"
    folder = re.search(r"`(/[^`]+/memory/)`", text_of({"content": body["system"]}))
    assert folder is not None, "the system prompt names no folder for memories"
    matter = "---\nname: boat-17\ndescription: where boat 17 lies\nmetadata:\n  type: project\n---\n\n"
    written = {"file_path": f"{folder[1]}boat-17.md", "content": f"{matter}{fact[1].strip()}\n"}
    call = {"type": "tool_use", "id": "toolu_1", "name": "Write", "input": {}}
    return call, {"type": "input_json_delta", "partial_json": json.dumps(written)}, "tool_use"


def _named_call(body: JsonObject, asked: list[JsonObject]) -> tuple[str, str] | None:
    """Return the tool that a message tells to call and its arguments, once it is there: the program connects to servers
    of tools while the model answers already, and offers a tool that waits for them."""
    wanted = next(filter(None, (re.search(r"CALL: (\w+) (\{.*\})", text_of(each)) for each in asked)), None)
    used = [part.get("name") for message in body["messages"] for part in message["content"] if isinstance(part, dict)]
    if wanted is None or wanted[1] in used:
        return None
    names = {tool["name"] for tool in body.get("tools", [])}
    if wanted[1] in names:
        return wanted[1], wanted[2]
    return (_WAITING, "{}") if _WAITING in names and used.count(_WAITING) < 20 else None


def message_events(body: JsonObject) -> bytes:
    """Return an answer of the Messages API as server-sent events."""
    block, delta, reason = message_of(body)
    usage = {"input_tokens": 10, "output_tokens": 5}
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": body.get("model"), "content": []}
    events: list[JsonObject] = [
        {"type": "message_start", "message": {**message, "stop_reason": None, "usage": usage}},
        {"type": "content_block_start", "index": 0, "content_block": block},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": usage},
        {"type": "message_stop"},
    ]
    return b"".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode() for event in events)


def response_events(body: JsonObject) -> bytes:
    """Return an answer of the Responses API as server-sent events."""
    item = _response_item([part for part in body["input"] if isinstance(part, dict)])
    usage = {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15}
    events: list[JsonObject] = [
        {"type": "response.created", "response": {"id": "resp_1"}},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": {"id": "resp_1", "usage": usage}},
    ]
    return b"".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode() for event in events)


def _response_item(asked: list[JsonObject]) -> JsonObject:
    text = text_of(asked[-1])  # "" for the result of a tool, which ends the turn
    wanted = re.search(r"(RUN|GOAL):([^|\n]+)", text) if asked[-1].get("role") == "user" else None
    if wanted is None:
        content = {"type": "output_text", "text": f"I have read: {text[:1000]}"}
        return {"type": "message", "id": "msg_1", "role": "assistant", "content": [content]}
    words = wanted[2].strip()
    name, arguments = ("exec_command", {"cmd": words}) if wanted[1] == "RUN" else ("create_goal", {"objective": words})
    return {
        "type": "function_call",
        "id": "fc_1",
        "call_id": "call_1",
        "name": name,
        "arguments": json.dumps(arguments),
    }


def generated_content(body: JsonObject) -> JsonObject:
    """Return the answer to Gemini CLI. It keeps memories in a file that its system prompt names."""
    text = text_of({"content": body["contents"][-1]["parts"]})
    fact = re.search(r"REMEMBER:([^|\n]+)", text)
    part: JsonObject = {"text": f"I have read: {text[:1000]}"}
    if fact is not None:
        place = re.search(r"`(/[^`]+/memory/MEMORY\.md)`", text_of({"content": body["systemInstruction"]["parts"]}))
        assert place is not None, "the system prompt names no file for memories"
        arguments = {"file_path": place[1], "content": f"- {fact[1].strip()}\n"}
        part = {"functionCall": {"name": "write_file", "args": arguments}}
    usage = {"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15}
    candidate = {"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}
    return {"candidates": [candidate], "usageMetadata": usage}


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
        if self.path.partition("?")[0].endswith("/messages"):
            self._send_bytes(message_events(body), "text/event-stream")
            return
        if self.path.endswith("/responses"):
            self._send_bytes(response_events(body), "text/event-stream")
            return
        if ":streamGenerateContent" in self.path:
            self._send_bytes(f"data: {json.dumps(generated_content(body))}\n\n".encode(), "text/event-stream")
            return
        message, reason = answer(body.get("messages", []), body.get("tools", []))
        if body.get("stream"):
            self._stream(body, message, reason)
        else:
            self._send(_completion(body, "chat.completion", {"message": message, "finish_reason": reason}))

    def _send(self, value: JsonObject) -> None:
        self._send_bytes(json.dumps(value).encode(), "application/json")

    def _send_bytes(self, data: bytes, kind: str) -> None:
        self.send_response(200)
        self.send_header("content-type", kind)
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
