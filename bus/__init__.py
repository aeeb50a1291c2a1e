"""Addresses, envelopes, wires and stores: what carries messages and keeps state, knowing nothing of what they mean."""
