"""The evaluation head: one process that knows the game servers and answers for agents.

It finds servers and says which are healthy, lends a way to those that no player can dial, and
answers blocks of observations by the queue that all networks share. It decides nothing: a head that
is killed loses no match.
"""
