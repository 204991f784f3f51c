"""Where secrets stand in files: tokenizers that keep positions, rules for names, known values, cutting and filling."""
