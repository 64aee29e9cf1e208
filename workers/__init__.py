"""Plays match orders: neither Django nor the database, and no secret."""
