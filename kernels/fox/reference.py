"""FoX (Lin et al. 2025): the bias is the sum of the log forget gates between key and query."""


def forget_bias(log_f, rows):
    """b_ts = sum_{s<u<=t} log f_u = F_t - F_s with F = cumsum(log f), for the last `rows` queries.

    Shapes: log_f (..., S), each <= 0, S keys; returns (..., rows, S). Entries at s > t are not defined (masked).
    """
    F = log_f.cumsum(-1)  # (..., S)
    return F[..., -rows:, None] - F[..., None, :]  # (..., rows, S)
