"""The control socket: JSON-RPC 2.0, one message a line, between the daemon and the command line or the dashboard."""
