"""The screens of an agent's sequences and of their differences."""
