"""Owners: each thing that can be changed has one, which handles one message at a time."""
