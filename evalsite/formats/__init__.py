"""How Django writes what no template of ours writes: the lists of the admin."""
