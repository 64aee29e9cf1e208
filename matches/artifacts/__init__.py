"""What is named by its content: agents, checkpoints and their checks, trajectories."""
