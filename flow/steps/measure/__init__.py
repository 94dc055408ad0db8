"""Measure a network on the user's own machine: `fpgaflow baseline --measure`."""
