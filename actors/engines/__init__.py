"""Engines: processes that own a thing of the operating system for an owner. They keep nothing and may die at any time."""
