"""Games: rules with seats, chance, observations and returns. One file of catalog/ is one game."""
