"""The written rule by which a figure of a source and ours agree. No verdict is given by hand."""

MATCHES, SAME_DIRECTION, DIFFERS, FAILED = "matches", "same direction", "differs", "run failed"
RELATIVE, ABSOLUTE = 0.2, 0.01  # of figures without a number of seeds
LEVEL = 0.05


def verdict(figure, value, interval, ahead, p):
    """Whether a Figure and ours agree: "matches", "same direction" or "differs".

    value: ours, a rate of solved seeds or the mean of a score over seeds; interval: its 95 % interval, or None; ahead: where the source
    has a winner over this arm, whether that arm is ahead of this one in ours (more solved seeds, or the better mean of the score), else
    None; p: of the paired test that it is, adjusted over its table, or None.

    matches: the value is the source's, and its winner, if it has one, is ahead. A count of seeds is the source's if the source's rate, or
    some rate of the range that it gives, lies in our interval. A score or a computed quantity is the source's if it is within 20 % of the
    source's, or of the nearer end of its range; of a score, which is a share, within .01 will do too.

    same direction: the value is another, and the order is the source's beyond chance: p < .05. A count that is compared with nothing says
    whether most seeds solve the task: our rate and the source's then lie on one side of one half. A score or a quantity that is compared
    with nothing has no direction.

    differs: everything else.
    """
    if agrees(figure, value, interval) and ahead is not False:
        return MATCHES
    if ahead is None:
        return SAME_DIRECTION if figure.counts and same_side(*figure.bounds, value) else DIFFERS
    return SAME_DIRECTION if ahead and p < LEVEL else DIFFERS


def agrees(figure, value, interval):
    """Whether a value is the source's."""
    low, high = figure.bounds
    if figure.counts:
        return interval[0] <= high and low <= interval[1]
    nearest = min(max(value, low), high)
    return abs(value - nearest) <= max(RELATIVE * abs(nearest), ABSOLUTE if figure.metric else 0)


def same_side(*rates):
    """Whether rates lie on one side of one half."""
    return min(rates) > 1 / 2 or max(rates) < 1 / 2
