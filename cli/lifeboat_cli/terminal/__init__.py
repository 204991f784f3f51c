"""What every command uses: session, output, tables, questions."""
