"""The settings of a home: table, file, parsers."""
