"""NEXUS as a service of the user: a systemd user unit on Linux, a launchd agent on macOS."""
