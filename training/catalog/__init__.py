"""One trainer per file, whose name is its id."""
