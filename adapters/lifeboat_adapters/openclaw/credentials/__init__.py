"""Find credentials of OpenClaw, decide which agent owns them, and which must never be captured (ALF §3.4)."""
