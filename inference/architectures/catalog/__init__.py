"""One file per architecture; its name is the id. EVALSITE_PLUGINS adds architectures/<id>.py."""
