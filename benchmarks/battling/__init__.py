"""Battles of Pokemon Showdown through the queue, and in other ways beside it."""
