"""`probe` given what makes no sense: one clear line on stderr, nothing on stdout, exit code 2."""

import pytest

QUICK = ["--r", "4", "--steps", "50", "--batch", "4", "--seeds", "2", "--workers", "1"]


BAD = {
    "r below 2": (["--r", "1"], "r must be from 2"),
    "too many words": (["--r", "40", "--evaluate", "exhaustive"], "goes up to r = 18"),
    "no seeds": (["--seeds", "0"], "at least one seed"),
    "a range backwards": (["--seeds", "5:2"], "at least one seed"),
    "seeds in words": (["--seeds", "many"], "a count such as 15"),
    "negative seeds": (["--seeds=-3:4"], "a count such as 15"),
    "unknown arm": (["--arm", "fpaa"], "did you mean 'fpa'"),
    "two biases": (["--arm", "alibi+fox"], "both a bias"),
    "head-dim 0": (["--head-dim", "0"], "head_dim must be from 1"),
    "arm at 0": (["--arm", "fpa@0"], "head_dim must be from 1"),
    "arm at x": (["--arm", "fpa@x"], "the head dimension after @ takes int, not 'x'"),
    "arm at nothing": (["--arm", "fpa@"], "the head dimension after @ takes int, not ''"),
    "arm in other digits": (["--arm", "fpa@\u0661"], "the head dimension after @ takes int"),
    "seeds in other digits": (["--seeds", "\u0663"], "a count such as 15"),
    "a signed count": (["--seeds", "+2"], "a count such as 15"),
    "a huge batch": (["--batch", "100000000000"], "batch must be from 1 to 16384"),
    "a plan as json": (["--dry-run", "--json"], "give one of them"),
    "a reference of two layers": (["--reference", "rope/rope"], "names 2 layers"),
    "no store": (["--store", ""], "must name a directory"),
    "a very long name": (["--arm", "x" * 5000], " ... "),
    "two layers": (["--arm", "rope/fpa"], "names 2 layers"),
    "lr nan": (["--lr", "nan"], "lr must be positive"),
    "lr 0": (["--lr", "0"], "lr must be positive"),
    "no steps": (["--steps", "0"], "steps must be from 1"),
    "no batch": (["--batch", "0"], "batch must be from 1"),
    "no threads": (["--threads", "0"], "threads must be at least 1"),
    "no workers": (["--workers", "0"], "workers must be at least 1"),
    "unknown device": (["--device", "tpu"], "cpu or cuda"),
    "unknown reference": (["--reference", "fpaa"], "did you mean 'fpa'"),
    "two formats": (["--json", "--csv"], "give one of them"),
    "not a number": (["--r", "x"], "--r"),
    "unknown option": (["--foo"], "--foo"),
    "unknown slot": (["--slot", "square"], "balanced"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_gives_one_clear_line_and_exit_2(probe, case, store):
    arguments, message = BAD[case]
    done = probe("run", "ladder", *store, *arguments)
    assert done.exit_code == 2
    assert message in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert done.stdout == ""


def test_an_unknown_task_or_command_is_answered_with_the_nearest(probe):
    for arguments, near in [(["run", "lader"], "ladder"), (["lst"], "list"), (["show", "lader"], "ladder")]:
        done = probe(*arguments)
        assert done.exit_code == 2
        assert near in done.stderr
        assert len(done.stderr.strip().splitlines()) == 1


def test_an_absent_gpu_is_said(probe):
    import torch

    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    done = probe("run", "ladder", "--device", "cuda")
    assert done.exit_code == 2
    assert "no CUDA device" in done.stderr


def test_a_store_that_cannot_be_written_exits_2(probe, tmp_path):
    (tmp_path / "file").write_text("")
    done = probe("run", "ladder", *QUICK, "--store", str(tmp_path / "file" / "x"))
    assert done.exit_code == 2
    assert str(tmp_path / "file") in done.stderr


@pytest.mark.parametrize("more", [[], ["--dry-run"]])
def test_a_store_whose_task_folder_is_a_file_exits_2(probe, tmp_path, more):
    (tmp_path / "ladder").write_text("")
    done = probe("run", "ladder", *QUICK, "--store", str(tmp_path), *more)
    assert done.exit_code == 2
    assert done.stderr == f"error: {tmp_path / 'ladder'}: results are kept in this directory, and it is none\n"
