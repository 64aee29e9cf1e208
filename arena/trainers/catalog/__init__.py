"""One way to train per file, whose name is its id."""
