"""The pure core: games, policies, ratings, pairings and the messages between processes."""
