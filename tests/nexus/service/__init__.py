"""NEXUS as a service."""
