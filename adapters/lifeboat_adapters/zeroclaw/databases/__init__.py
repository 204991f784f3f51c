"""Read ZeroClaw's databases: memories, and durable rows of the others."""
