"""The service as systemd, launchd and the Windows task scheduler know it."""
