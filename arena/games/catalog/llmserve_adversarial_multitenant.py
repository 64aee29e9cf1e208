"""A server of language models under patient tenants and impatient chats."""

from arena.games.llmserve.rules import LLMServeGame
from arena.games.llmserve.workload import ADVERSARIAL

GAME = LLMServeGame(ADVERSARIAL)
