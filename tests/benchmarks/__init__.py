"""Measurements, never assertions: run by `make bench`, printed with ratios to peers of the same run."""
