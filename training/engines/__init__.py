"""What learns from files of experience: torch in this process, or a cluster of Ray."""
