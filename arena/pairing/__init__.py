"""Pairing: which agents meet in which block of matches."""
