"""Results that were played elsewhere: read from a file, checked, written as a batch, struck."""
