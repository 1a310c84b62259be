"""Biases, by what they may depend on: age alone, the path between key and query, pairs of tokens."""
