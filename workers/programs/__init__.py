"""The lines to agents that live elsewhere: programs that a player starts, addresses that it asks.

They run with the rights of their player, as no sandbox holds them: only what the node's operator
lists is started.
"""
