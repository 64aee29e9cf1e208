"""Questions and their verdicts: campaigns, gates, watched runs, schedules."""
