"""Django's SQLite backend with a shorter wait for the write lock."""
