"""What `probe export` writes: every column of a row a seed and of a row an arm, with its type, unit and meaning.

SCHEMA is raised when a column is dropped or comes to mean another thing; a column may be added without it.
"""

SCHEMA = 1
# name -> (type, unit or "", meaning); json is an object in JSON, its text elsewhere; every column but the first seven may be empty
SEEDS = {
    "schema": ("int", "", "version of this list of columns"),
    "task": ("text", "", "the task's name"),
    "options": ("json", "", "the task's options, every one"),
    "arm": ("text", "", "the mechanism, in canonical form; what is not named is the default of its axis"),
    "head_dim": ("int", "", "head dimension d"),
    "seed": ("int", "", "seed of the data and of the initial weights"),
    "status": ("text", "", "solved | unsolved | failed (a loss, gradient or metric was not finite)"),
    "state": ("text", "", "current (of today's code) | older | newer | unknown (a task or part that is not known here)"),
    "why": ("text", "", "why the state is not current"),
    "metric": ("text", "", "the score that decides; empty where the state is not current, like the next two"),
    "better": ("text", "", "low | high: which way the metric is better"),
    "threshold": ("float", "of the metric", "solved iff the metric is at least as good at the last judgement"),
    "value": ("float", "of the metric", "the metric's value; kl in nats, shares from 0 to 1"),
    "steps": ("int", "steps", "optimiser steps that were taken"),
    "failure": ("text", "", "of a failed seed: what was not finite, and at which step"),
    "realised": ("int", "sets", "alive sets that the seed's head realises, where all sets were counted"),
    "ceiling": ("int", "sets", "the most that a head of this kind and dimension can realise, by theory"),
    "theory": ("text", "", "what theory says of the arm"),
    "claim": ("text", "", "the theorem that says so"),
    "recipe": ("json", "", "steps, lr (peak learning rate), batch (sequences a seed and step) and the rest of the training recipe"),
    "task_version": ("int", "", "version of the task; results of two versions are not comparable"),
    "num_heads": ("int", "", "heads a layer"),
    "layers": ("int", "", "layers"),
    "dtype": ("text", "", "number format of the training"),
    "device": ("text", "", "cpu | cuda"),
    "seconds": ("float", "s", "wall seconds of the stack that the seed trained in, divided by its seeds"),
    "date": ("text", "ISO 8601, UTC", "when the result was stored"),
    "versions": ("json", "", "of Python and of the packages that computed it"),
    "data_hash": ("text", "", "hash of the training data; equal for every arm of one task and seed"),
    "code": ("text", "", "sha256 of the code that the result depends on"),
    "key": ("text", "", "sha256 of everything that determines the result; its file is named by the first 16 digits"),
}
SCORES = ("float", "of the score", "one column a score of the task: score:kl, score:present@early, ...; the part after @ is a difficulty")
ARMS = {
    "schema": ("int", "", "version of this list of columns"),
    "task": ("text", "", "the task's name"),
    "options": ("json", "", "the task's options, every one"),
    "seeds": ("text", "", "the range of seeds that the arms are compared on"),
    "steps": ("int", "steps", "optimiser steps of the recipe"),
    "lr": ("float", "", "peak learning rate"),
    "batch": ("int", "sequences", "a seed and step"),
    "device": ("text", "", "cpu | cuda"),
    "arm": ("text", "", "the mechanism and, after @, its head dimension"),
    "head_dim": ("int", "", "head dimension d"),
    "control": ("bool", "", "the arm again at a head dimension that suffices"),
    "n": ("int", "seeds", "stored in this range"),
    "solved": ("int", "seeds", "solved"),
    "failed": ("int", "seeds", "failed: neither solved nor compared"),
    "low": ("float", "", "lower end of the 95 % Clopper-Pearson interval of the solved rate"),
    "high": ("float", "", "its upper end"),
    "metric": ("text", "", "the score that decides"),
    "threshold": ("float", "of the metric", "solved iff the metric is at least as good at the last judgement"),
    "median": ("float", "of the metric", "over the seeds that did not fail"),
    "worst": ("float", "of the metric", "the worst such seed's"),
    "realised": ("int", "sets", "the most alive sets that a seed's head realises"),
    "realisable": ("int", "sets", "what that head's keys and offsets could realise with a free query, by theory"),
    "ceiling": ("int", "sets", "the most that a head of this kind and dimension can realise, by theory"),
    "reference": ("text", "", "the arm that p compares with"),
    "p": ("float", "", "one-sided exact sign test, paired by seed: the reference solves more"),
    "p_holm": ("float", "", "p after Holm's correction over the stored arms of this table that are no controls"),
    "theory": ("text", "", "what theory says of the arm"),
    "claim": ("text", "", "the theorem that says so"),
    "source": ("text", "", "the figure of the source paper"),
    "seconds": ("float", "s", "training seconds of the arm's seeds together"),
    "command": ("text", "", "the command that makes the row again"),
}


def tables():
    """A rich Table of the columns of each kind of row."""
    from rich import box
    from rich.table import Table

    for title, columns in {"A row a seed": SEEDS | {"score:NAME": SCORES}, "A row an arm": ARMS}.items():
        made = Table(title=f"{title} (schema {SCHEMA})", title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False)
        for heading in ("column", "type", "unit", "meaning"):
            made.add_column(heading, overflow="fold", no_wrap=heading == "column")
        for name, told in columns.items():
            made.add_row(name, *told)
        yield made
