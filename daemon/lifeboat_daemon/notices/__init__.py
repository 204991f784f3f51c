"""How users and monitoring are informed by the daemon: notifiers, metrics, pings."""
