"""Any environment that speaks OpenEnv as a game of one seat; docs/gameservers.md shows a file."""
