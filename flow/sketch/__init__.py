"""Networks that are not trained yet: a list of layers becomes a graph with random weights."""
