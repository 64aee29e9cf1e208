"""Simulated campaigns: fields of known truth through the real pairing, rating and stopping."""
