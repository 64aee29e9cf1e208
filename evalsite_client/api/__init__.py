"""Types and calls of the API by noun."""

# Written by `./run manage write_client_api` from the schema of the API: change that, not this.
