"""One thread for every numerical library, in the tests and in what they start: more gain nothing here. Triton is interpreted."""

import os

for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[name] = "1"
os.environ.setdefault("TRITON_INTERPRET", "1")  # read when triton is imported; =0 on a machine with a GPU runs the kernels there
