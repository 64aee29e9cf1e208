"""The life of a match: planned, sent, played, reported, recorded, given up."""
