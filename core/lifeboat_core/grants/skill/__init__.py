"""The skill that explains `lifeboat mcp` to an agent."""
