"""The state of the whole system: read once a second by control, shown to everybody."""
