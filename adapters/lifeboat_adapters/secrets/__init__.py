"""Find secrets in files: tokenizers that keep positions, rules for names, search for known values, cutting
and filling."""
