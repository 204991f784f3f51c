"""Widgets that screens are made of. They handle rows, texts and figures, and know nothing of agents."""
