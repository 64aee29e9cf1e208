"""LLMServe for OpenEnv: steer a server of language models."""

from llmserve_env.client import LLMServeEnv
from llmserve_env.models import ServeAction, ServeObservation, ServeState

__all__ = ["LLMServeEnv", "ServeAction", "ServeObservation", "ServeState"]
