"""Normalisers: from a row of scores to weights that sum to at most 1."""
