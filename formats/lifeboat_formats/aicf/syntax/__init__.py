"""The syntax of AICF files and its dialects."""
