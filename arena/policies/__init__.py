"""Policies: a block of observations in, a block of actions out. One file of catalog/ is one kind."""
