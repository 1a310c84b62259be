"""Benchmarks of the fused kernels: what the compiler says without a GPU, and times beside other implementations with one."""
