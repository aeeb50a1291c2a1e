"""What NEXUS gives to browsers. Its sources are in web/; what they are built to, in built/, is never committed."""
