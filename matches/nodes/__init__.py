"""Who may play: keys, admission and capacity of play nodes."""
