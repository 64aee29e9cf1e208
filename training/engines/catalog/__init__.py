"""One engine per file, whose name is its id."""
