"""The gateway: MCP and the person's socket in, ZeroMQ calls to owners out. Holds nothing that matters."""
