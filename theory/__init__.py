"""Claims about attention heads, proved by exhaustive or exact computation."""

if __name__ == "theory":
    raise ImportError("'theory' is part of attnprobe: run `pip install -c constraints.txt .`, then `import attnprobe.theory`")
