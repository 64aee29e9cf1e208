"""What keeps files and rows of experience from growing without bound."""
