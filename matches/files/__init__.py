"""Files that nodes fetch and put under signed links."""
