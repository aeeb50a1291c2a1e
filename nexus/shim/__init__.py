"""`nexus mcp`: carries lines of JSON-RPC between a stdio client and the agents' socket (docs/decisions/0012).

Every module here imports the standard library, `bus.limits` and `nexus.peer` alone, so that a client waits a tenth of a
second for it and not one (tests/shim/test_imports.py). It needs one socket and one token, and nothing else of the home.
"""
