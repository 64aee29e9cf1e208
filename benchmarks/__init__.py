"""Benchmarks: each prints one table of ours against the peer and the limit."""
