"""`lifeboat mcp`: an agent's own past over the Model Context Protocol. Only this command imports the package."""
