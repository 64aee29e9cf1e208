"""Games that live elsewhere: what serves them, the evaluation head, and discovery of servers.

Neither Django nor the database: like a play node, only arena and the client of the inference queue.
"""
