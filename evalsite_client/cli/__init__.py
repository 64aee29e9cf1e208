"""`evalsite` on the command line: the common jobs of the API."""
