"""What pages draw: scales with round marks, and only what has settled."""
