"""The parts of `./run bench live`."""
