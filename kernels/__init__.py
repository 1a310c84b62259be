"""Attention operators as pure tensor functions, each with a reference definition."""

if __name__ == "kernels":
    raise ImportError("'kernels' is part of attnprobe: run `pip install -c constraints.txt .`, then `import attnprobe.kernels`")
