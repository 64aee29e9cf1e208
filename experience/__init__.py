"""The second database app: what players of games upload, and what is trained from it."""
