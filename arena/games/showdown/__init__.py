"""Battles of Pokemon Showdown: the package's simulator is a child process in JavaScript."""
