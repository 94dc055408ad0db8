"""What a GPU or CPU would need for the same work."""
