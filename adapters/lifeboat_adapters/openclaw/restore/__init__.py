"""What brings an agent back into an installation of OpenClaw."""
