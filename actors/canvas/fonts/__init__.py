"""Advance widths and kerning of the fonts that Excalidraw ships, and what stands in for characters they lack.

One module a family, made by `python -m tests.fonts`; `table.py` puts them together by Excalidraw's numbers.
"""
