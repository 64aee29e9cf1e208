"""One file is one entry; its name is the id."""
