"""Game servers in benchmarks, each a process of its own."""
