"""`evalsite` on the command line: the common uses of the API."""
