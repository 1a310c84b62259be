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
