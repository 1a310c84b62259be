"""Versions of what the kernels stand on that do not go together."""


def numbers(version):
    """(3, 9) of 3.9.0: what is compiled, and what runs, is the same within these two."""
    return tuple(int(number) for number in version.split(".")[:2])


def check_interpreter(of_triton, of_numpy):
    """Raises ImportError where Triton's interpreter would fail in the first loop whose bounds are computed.

    Before 3.7 it makes an int of an array of one element, which NumPy refuses from 2.4 on.
    """
    if numbers(of_triton) < (3, 7) and numbers(of_numpy) >= (2, 4):
        raise ImportError(
            f"the interpreter of Triton {of_triton} needs NumPy below 2.4, not {of_numpy}: install numpy<2.4, or Triton 3.7 or later"
        )
