"""The product's hosts, links and journal on one seeded scheduler, with a wire and a disk that fail."""
