"""What the operator asks: why nothing happens, is the system ready, how is it."""
