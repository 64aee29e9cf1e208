"""Ratings: how strong each agent is and how sure that is, from results alone."""
