"""One thread for every numerical library, in the tests and in what they start: small operators gain nothing from more."""

import os

for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[name] = "1"
