"""Addresses, envelopes, wires and stores: what carries messages and keeps state, knowing nothing of what they mean."""

from bus import limit_relations as limit_relations  # asserts, and nothing else
