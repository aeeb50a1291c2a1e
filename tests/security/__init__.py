"""The attacks of contract/security.md, one test each."""
