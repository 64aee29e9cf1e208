"""Networks that a checkpoint may name: one file of the catalog each."""
