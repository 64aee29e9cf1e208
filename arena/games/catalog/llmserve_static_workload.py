"""A server of language models under chats at a steady rate."""

from arena.games.llmserve.rules import LLMServeGame
from arena.games.llmserve.workload import STATIC

GAME = LLMServeGame(STATIC)
