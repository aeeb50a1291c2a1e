"""Declarations of the tools that agents see: models, kinds, capabilities and refusals. No behaviour."""
