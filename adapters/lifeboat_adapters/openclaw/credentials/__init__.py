"""Where credentials of OpenClaw stand, whose they are, and what must never be captured (ALF §3.4)."""
