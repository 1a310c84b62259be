"""One file a claim; a claim is found by its `@claim` name."""
