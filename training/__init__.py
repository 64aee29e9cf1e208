"""Trainers: what learns from chunks of experience, with torch and without Django or a database."""
