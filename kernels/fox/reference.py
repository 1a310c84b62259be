"""FoX (Lin et al. 2025): the bias is the sum of the log forget gates between key and query."""

from attnprobe.kernels import arguments


def forget_bias(log_f, rows):
    """b_ts = sum_{s<u<=t} log f_u = F_t - F_s with F = cumsum(log f), for the last `rows` queries.

    Shapes: log_f (..., S), each <= 0, S keys; returns (..., rows, S). Entries at s > t are not defined (masked).
    """
    arguments.sequences(log_f=log_f)
    arguments.whole("rows", rows, 1, log_f.shape[-1], ", the number of keys")
    F = log_f.cumsum(-1)  # (..., S)
    return F[..., -rows:, None] - F[..., None, :]  # (..., rows, S)
