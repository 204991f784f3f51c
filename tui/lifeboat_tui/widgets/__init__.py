"""What screens are made of. Widgets know rows, texts and figures, and nothing of agents."""
