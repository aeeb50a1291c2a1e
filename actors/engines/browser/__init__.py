"""What drives a browser: the one importer of playwright."""
