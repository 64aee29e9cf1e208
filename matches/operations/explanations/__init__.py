"""Why something stands where it stands: one file per subject, one form for all."""
