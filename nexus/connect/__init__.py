"""Connecting MCP clients: which there are, where each is configured, and how that is edited (docs/decisions/0013)."""
