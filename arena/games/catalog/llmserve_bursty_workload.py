"""A server of language models under chats that come in bursts."""

from arena.games.llmserve.rules import LLMServeGame
from arena.games.llmserve.workload import BURSTY

GAME = LLMServeGame(BURSTY)
