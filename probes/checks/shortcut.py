"""The best rule that reads one fixed position: one that answers as an exact reader does shows a task that gives its answer away."""

from __future__ import annotations

import numpy as np

from attnprobe.probes.checks.findings import Failed
from attnprobe.probes.checks.readers import NEAR
from attnprobe.probes.streams import stream

SEQUENCES = 8192  # half to learn a rule from, half to score it on
EXACT = 0.9  # of the way from one fixed answer to an exact reader


def one_position(task):
    """No fixed position gives the answers away: a rule from the token there to each answer, learned on other sequences, is no reader."""
    batch = task.sample(stream(0, "check"), SEQUENCES)
    answers, asked, at = columns(batch, getattr(task, "nothing", None))
    tokens = batch.tokens.astype(np.int64)
    fixed = share(tokens[:, :1] * 0, answers, asked, at)
    found = [share(tokens[:, t : t + 1], answers, asked, np.where(at >= t, at, -1)) for t in range(at.max() + 1)]
    best = int(np.argmax(found))
    most = fixed + EXACT * (1 - fixed)
    known = f"the token at position {best} alone tells {found[best]:.1%} of the answers (one fixed answer is {fixed:.1%} of them)"
    if found[best] >= most and found[best] > shortcuts(task) + NEAR:
        raise Failed(f"{known}: from {most:.1%} on, the task gives them away at a fixed position")
    return f"{known}, below {most:.1%}" if found[best] < most else f"{known}, as a declared shortcut does"


def columns(batch, nothing):
    """Each answer as a number (n, A), whether it is asked (n, A), and the position that it is asked at (n, A).

    Where there is not one number a scored position, all of an example's target is one answer, at the last of its scored positions.
    """
    n = len(batch.target)
    scored = np.broadcast_to(batch.scored, (n, batch.scored.shape[-1]))
    if batch.target.shape == scored.shape:
        answers, at = batch.target, scored
    else:
        answers, at = batch.target.reshape(n, -1), scored.max(1, keepdims=True)
    asked = np.ones(answers.shape, bool) if nothing is None else answers != nothing
    if answers.shape != at.shape:
        answers, asked = np.unique(answers, axis=0, return_inverse=True)[1].reshape(n, 1), asked.all(1, keepdims=True)
    return np.unique(answers, return_inverse=True)[1].reshape(answers.shape), asked, at


def share(tokens, answers, asked, at):
    """The share of the second half's answers that the first half's most frequent one, given the token (n, 1), is.

    Where `at` is below 0 the token is not read: it comes after the answer.
    """
    right, half = 0, len(answers) // 2
    for answer, held, read in zip(answers.T, asked.T, np.where(at < 0, -1, tokens).T, strict=True):
        learned, scored = np.flatnonzero(held[:half]), half + np.flatnonzero(held[half:])
        right += (said(read[learned], answer[learned], read[scored]) == answer[scored]).sum()
    return float(right / max(1, asked[half:].sum()))


def said(tokens, answers, others):
    """The most frequent of the answers at each of other tokens; at one that never came, -1, which is no answer."""
    kinds = int(answers.max(initial=0)) + 1
    pairs, counts = np.unique((tokens + 1) * kinds + answers, return_counts=True)
    pairs = pairs[np.argsort(counts, kind="stable")]  # the most frequent last, which stays in the table
    table = np.full(int(max(tokens.max(initial=0), others.max(initial=0))) + 2, -1)
    table[pairs // kinds] = pairs % kinds
    return table[others + 1]


def shortcuts(task):
    """The highest score that a declared shortcut is stated to have, 0 where none is or a low score is a good one."""
    stated = [score for name, (_, score) in task.readers.items() if name not in ("exact", "bayes")]
    return max(stated, default=0.0) if task.better == "high" else 0.0
