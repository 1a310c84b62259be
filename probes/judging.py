"""What trained weights are judged by: a model's output on evaluation data, of one draw of a random routing and of many."""

from __future__ import annotations


def scores(task, model, p, batch, draws):
    """Metrics of one stacked Batch: name -> (N,), those of test-time draw 1.

    Where the routing draws at random and the task averages over `task.draws` of them, also <metric><draws>: the metric of the
    mean of class probabilities over draws 1..task.draws. draws(number) -> a function of the layer that gives its Draw.
    """
    first = output(task, model, p, batch, draws(1))
    made = task.score(first, batch)
    if not model.random or task.draws == 1:
        return made
    others = [output(task, model, p, batch, draws(number)) for number in range(2, task.draws + 1)]
    return made | {f"{task.metric}{task.draws}": task.score(mean_of_classes([first, *others]), batch)[task.metric]}


def over_chunks(task, judged):
    """The scores of an evaluation: name -> (N,). judged: (stacked Batch, its scores) of each chunk.

    Each is the mean over all answers that it is a score of: a chunk weighs what task.counts says, else its examples. One other than the
    task's metric is of the chunks that have something to score, nan where none has.
    """
    import torch

    total, seen = {}, {}
    for batch, found in judged:
        counts, n = task.counts(batch), batch.tokens.shape[1]
        for name, value in found.items():
            there = torch.ones_like(value, dtype=torch.bool) if name == task.metric else ~value.isnan()
            weight = there * counts.get(name, n)
            total[name] = total.get(name, 0) + torch.where(there, value, 0) * weight
            seen[name] = seen.get(name, 0) + weight
    return {name: value / seen[name] for name, value in total.items()}


def output(task, model, p, batch, draws):
    """The model's output on a batch, task.at_once examples at a time."""
    import torch

    n = batch.tokens.shape[1]
    if not task.at_once or n <= task.at_once:
        return model(p, batch, draws)
    return torch.cat([model(p, batch.examples(i, i + task.at_once), draws) for i in range(0, n, task.at_once)], 1)


def mean_of_classes(logits):
    """Logits of the mean of class probabilities, from the logits (..., classes) of each draw."""
    import torch

    return torch.stack([x.log_softmax(-1) for x in logits]).logsumexp(0)
