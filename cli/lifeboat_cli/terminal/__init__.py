"""What every command uses: its session, output, tables, questions."""
