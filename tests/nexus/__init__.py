"""Tests of nexus: processes and commands."""
