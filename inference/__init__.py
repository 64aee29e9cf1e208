"""Networks of all agents in shared micro-batches: the gpu worker, and its clients."""
