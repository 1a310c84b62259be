"""Synthetic tasks, attention mechanisms as points of five axes, and stacked-seed training."""

if __name__ == "probes":
    raise ImportError("'probes' is part of attnprobe: run `pip install -c constraints.txt .`, then `import attnprobe.probes`")
