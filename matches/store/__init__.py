"""What all rooms use of the database: bulk rows, auditing, the clock, caches, files, leases."""
