"""The command line: the only package that prints, and the only one that joins probes and theory."""

if __name__ == "cli":
    raise ImportError("'cli' is part of attnprobe: run `pip install -c constraints.txt .`, then `import attnprobe.cli`")
