"""The screens of an agent's memories."""
