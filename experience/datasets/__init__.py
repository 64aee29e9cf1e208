"""Datasets: begun by a query, planned once, written shard by shard."""
