"""Ways to train, as far as one must know them to order a run: what they do is in `training`."""
