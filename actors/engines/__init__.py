"""Engines: processes that own a thing of the operating system. They keep nothing durable and may die at any time."""
