"""What pages are told when something has changed."""
