"""Lines of a player to who plays a game elsewhere: a child process, or a game server."""
