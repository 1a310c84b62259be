"""Positions: how queries and keys carry where they stand."""
