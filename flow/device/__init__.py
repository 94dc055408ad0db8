"""Facts about parts and links, with their sources."""
