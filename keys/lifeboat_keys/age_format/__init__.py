"""age files: encryption to recipients and passphrases."""
