"""What every part of the format uses: JSON, ids, times, reason codes."""
