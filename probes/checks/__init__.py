"""Checks of a task or a mechanism, before anyone trains it: each asks one thing and says what it found, and where."""
