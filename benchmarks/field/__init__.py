"""A database with so many agents and matches, and how long every page of it takes."""
