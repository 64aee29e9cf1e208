"""What keeps the pages from being measured."""


class ForgottenError(Exception):
    """There is an address that nobody has said how to ask for."""
