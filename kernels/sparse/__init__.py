"""Sparse normalisers: projections onto the simplex, whose weights are exactly 0 below a threshold."""

from attnprobe.kernels.sparse.reference import entmax15, sparsemax

__all__ = ["entmax15", "sparsemax"]
