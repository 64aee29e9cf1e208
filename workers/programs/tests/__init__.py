"""Tests of the lines to agents that live elsewhere."""
