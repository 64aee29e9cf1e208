"""Pages of training: a run while it goes on, and the catalogue of what runs have published."""
