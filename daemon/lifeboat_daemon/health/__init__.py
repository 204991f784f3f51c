"""Health: what is verified when, who is overdue, and who is told."""
