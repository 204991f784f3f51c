"""From one layout of the home to the next, forwards only, with a copy of what was there."""
