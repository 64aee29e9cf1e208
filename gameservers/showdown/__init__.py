"""A game server whose battles are played on a server of Pokemon Showdown, real or public.

It runs in the tool `poke-env`, a virtual environment of its own (`./run showdown serve` starts it),
so nothing here may import what that lacks: no package of ours but `gameservers.sdk`. poke-env logs
in, challenges and searches the ladder; what a seat sees and may choose is worked out by the code of
the game in process (arena/games/showdown/view.js, in Node.js), so agents play both alike.

`accounts.py` and `pairs.py` are the only importers of poke-env.
"""
