"""Policies: a block of observations in, a block of actions out. A file of catalog/ is a kind."""
