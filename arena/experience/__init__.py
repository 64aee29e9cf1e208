"""What players of a game saw and did: chunks that clients send, and the segments they become."""
