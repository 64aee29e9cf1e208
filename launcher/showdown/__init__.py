"""`./run showdown`: the server of Pokemon Showdown on this machine, on loopback.

The tool `showdown` (launcher.tools) has the program; what it writes lies in `showdown` of the data
folder, its log in `log`.
"""
