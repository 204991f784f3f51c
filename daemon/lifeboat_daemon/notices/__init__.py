"""How users and monitoring hear from the daemon: notifiers, metrics, pings."""
