"""`./run llmserve`: the OpenEnv server of environments/llmserve on this machine, on loopback.

It runs in the tool `openenv-core` or `openenv` (launcher.tools); nothing of it is imported here.
"""
