"""What solves the tasks of family A exactly, and what a layer scores that takes a shortcut: answers (n, rows) read off a Batch."""

import functools
import math

import numpy as np


def context(task, batch):
    """The keys and the values of a batch's pairs, decoys included, in order: two (n, pairs)."""
    tokens = batch.tokens[:, task.start : task.context].astype(int)
    return tokens[:, ::2], tokens[:, 1::2] - task.keys


def lookup(task, batch):
    """The skyline: the value beside the asked key's token, silence (V) where no pair has it."""
    keys, values = context(task, batch)
    found = batch.tokens[:, task.context :, None] == keys[:, None]  # (n, rows, pairs)
    return np.where(found.any(-1), np.take_along_axis(values, found.argmax(-1), 1), task.values)


def unigram(task, batch):
    """One fixed value."""
    return np.zeros(batch.target.shape, int)


def last_value(task, batch):
    """The last value of the context."""
    return np.broadcast_to(context(task, batch)[1][:, -1:], batch.target.shape)


def majority(task, batch):
    """The most frequent value of the context."""
    counts = (context(task, batch)[1][:, :, None] == np.arange(task.values)).sum(1)
    return np.broadcast_to(counts.argmax(-1)[:, None], batch.target.shape)


def position(task, batch):
    """The value at the row's own place, counted round."""
    values = context(task, batch)[1]
    return values[:, np.arange(task.rows) % values.shape[1]]


def silence(task, batch):
    """Nothing, for every key."""
    return np.full(batch.target.shape, task.values)


def decoy(task, batch):
    """The value of the asked key's decoy."""
    own = batch.side["mix"][:, : task.context : 2], batch.side["amount"][:, : task.context : 2]
    pulled = (batch.tokens[:, task.context :, None] == own[0][:, None]) & (own[1] > 0)[:, None]
    return np.take_along_axis(context(task, batch)[1], pulled.argmax(-1), 1)


def majority_share(places, values):
    """The exact score of `majority` where `places` values are drawn alike: E[the largest count] / places.

    No count is above m in as many words as places! times the coefficient of x^places in (sum over c <= m of x^c / c!)^values.
    """
    powers = np.array([1 / math.factorial(c) for c in range(places + 1)])
    below = []
    for m in range(places):
        ways = functools.reduce(lambda a, b: np.convolve(a, b)[: places + 1], [powers * (np.arange(places + 1) <= m)] * values)
        below.append(ways[places] * math.factorial(places) / values**places)
    return float(sum(1 - chance for chance in below)) / places


SHORTCUTS = {f.__name__: f for f in (unigram, last_value, majority, position, silence)}


def scores(task, batch, answers):
    """The share of present keys answered right and, where keys may be absent, of absent ones that get a value."""
    present = batch.target < task.values
    made = {"present": (answers == batch.target)[present].mean()}
    return made | ({"hallucination": (answers < task.values)[~present].mean()} if task.absent else {})
