"""The kept sequences of an agent: timeline, differences, labels, retention."""
