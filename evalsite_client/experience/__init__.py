"""A client of a training run: plays its latest policy and uploads what it saw and did.

Needs numpy besides requests; nothing outside this package imports it but where it is used.
"""
