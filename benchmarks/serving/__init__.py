"""What `./run bench inference` measures: clients in a closed loop and the servers they ask."""
