"""Versions are read as numbers, and a pair that cannot run is refused before a kernel does."""

import pytest

from attnprobe.kernels.versions import check_interpreter, numbers


def test_versions_are_compared_as_numbers_of_two_places():
    assert numbers("3.10.0") > numbers("3.9.1") == numbers("3.9.0+cu130")


@pytest.mark.parametrize(("of_triton", "of_numpy"), [("3.6.0", "2.3.5"), ("3.7.0", "2.4.0"), ("3.9.0", "2.4.6"), ("3.10.0", "2.10.0")])
def test_pairs_that_run_are_let_pass(of_triton, of_numpy):
    check_interpreter(of_triton, of_numpy)


@pytest.mark.parametrize("of_numpy", ["2.4.0", "2.10.1", "3.0.0"])
def test_an_interpreter_that_numpy_is_too_new_for_is_refused_with_what_to_install(of_numpy):
    said = f"the interpreter of Triton 3.6.0 needs NumPy below 2.4, not {of_numpy}: install numpy<2.4, or Triton 3.7 or later"
    with pytest.raises(ImportError, match=said.replace(".", r"\.")):
        check_interpreter("3.6.0", of_numpy)
