"""Choices for a budget."""
