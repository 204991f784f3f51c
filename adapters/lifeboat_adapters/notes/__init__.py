"""Memories that stand in notes of Markdown: cut out of them, and made into them again. Several runtimes use the same
names and habits; names here are relative to the workspace."""
