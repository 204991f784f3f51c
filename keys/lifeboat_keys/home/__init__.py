"""The keys of one home: which there are, their files, their rotation."""
