"""Processes, gateway and commands around the owners."""

__version__ = "0.1.0"
