"""LLMServe: an agent steers a server of language models, window by window."""
