"""Connecting MCP clients."""
