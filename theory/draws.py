"""A simulated figure agrees with a computed one if the mean of 8 draws lies within 4 standard errors of it."""

import numpy as np

DRAWS = 8
ERRORS = 4


def streams(*path):
    """Return one generator a draw; `path`, integers, tells one use from another."""
    return [np.random.default_rng([*path, number]) for number in range(DRAWS)]


def agreement(samples, expected, slack):
    """Return (whether they agree, mean, standard error), as plain data, of the draws of one figure.

    slack is allowed besides 4 standard errors: half a unit in the last digit of a rounded figure; or one event, where the draws may all
    have seen the same number of rare events and so claim to be without error.
    """
    mean, error = float(np.mean(samples)), float(np.std(samples, ddof=1) / np.sqrt(len(samples)))
    return bool(abs(mean - expected) <= ERRORS * error + slack), mean, error
