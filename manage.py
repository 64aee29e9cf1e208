#!/usr/bin/env python
"""Run Django's management commands, as `./run manage ...` does."""

import os
import sys

from django.core.management import execute_from_command_line


def main() -> None:
    """Run the management command of the command line."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "evalsite.settings")
    execute_from_command_line(sys.argv)


if __name__ == "__main__":
    main()
