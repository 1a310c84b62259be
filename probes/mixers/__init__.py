"""Attention mechanisms as points of five axes: key filter, position, bias, normaliser, routing."""
