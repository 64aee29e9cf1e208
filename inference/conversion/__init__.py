"""Turning weights of other programs into checkpoints, on the side of whoever trained them."""
