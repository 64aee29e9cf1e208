"""What a browser reads: views, charts, wording."""
