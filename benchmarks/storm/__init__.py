"""`./run chaos --all`: kills and stops every program at random; an oracle reads what is left."""
