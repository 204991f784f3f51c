"""The Claude Code adapter: its profile (`folder/profiles/claude-code.toml`), memory files, transcripts, MCP servers and
moved projects."""

from lifeboat_adapters.claude_code.adapter import ClaudeCode

ADAPTER = ClaudeCode()

__all__ = ["ADAPTER"]
