"""Lists by filters in the address, and the search over everything that has a page."""
