"""Linear programs: the second method for what circuits decide, in floating point and with no code in common."""

import numpy as np


def greatest_margin(keys, offsets, word):
    """Return the largest m <= 1 such that some q, theta have q.k_s + o_s - theta >= m on alive keys, <= -m on dead ones, by HiGHS.

    keys: (r, D) numbers; offsets: r numbers, or None; word: bit s set iff key s+1 is dead; the last key is alive.
    """
    from scipy.optimize import linprog

    r, d = np.shape(keys)
    side = np.array([-1.0 if word >> s & 1 else 1.0 for s in range(r)])
    shift = np.zeros(r) if offsets is None else np.asarray(offsets, float)
    rows = np.column_stack([-side[:, None] * np.asarray(keys, float), side, np.ones(r)])
    found = linprog([0] * (d + 1) + [-1], A_ub=rows, b_ub=side * shift, bounds=[(None, None)] * (d + 1) + [(None, 1)], method="highs")
    if found.status != 0:
        raise ArithmeticError(f"HiGHS: {found.message}")
    return float(-found.fun)
