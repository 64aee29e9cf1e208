"""Training runs: started, ordered slice by slice, recorded, released."""
