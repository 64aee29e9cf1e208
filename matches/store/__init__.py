"""What all rooms use of the database: bulk rows, auditing, clock and time limits, caches, files."""
