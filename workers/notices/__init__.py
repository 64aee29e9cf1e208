"""What the clouds say ahead of taking a machine away, and the drain that it starts."""
