"""LLMServe's simulator, copied from evalsite by environments/copy_simulator.py."""
