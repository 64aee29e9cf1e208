"""Starts and watches the processes of evalsite on one machine: `./run`."""
