"""What is called by hand."""
