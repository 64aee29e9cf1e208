"""The OpenEnv server of LLMServe."""

import os

# Read when the packages are imported, so before anything else: the page at /web is part of what
# is served, and it reports to nobody.
os.environ.setdefault("ENABLE_WEB_INTERFACE", "true")
os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")
