"""From outcomes to ratings: evidence, settled and live ratings, standings, seasons."""
