"""Open synthesis, place and route."""
