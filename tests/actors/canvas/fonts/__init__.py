"""Tests of actors/canvas/fonts."""
