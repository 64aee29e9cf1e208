"""The questions: each file offers one as QUESTION; its name is the id."""
