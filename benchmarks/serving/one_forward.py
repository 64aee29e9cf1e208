"""The way of the seed: a web server that runs one forward for each request, as it comes.

python -m benchmarks.serving.one_forward PORT FILE

The same framework, the same bytes and the same choice as at the head; only nothing is gathered.
"""

import sys
from pathlib import Path

import numpy as np
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from arena.policies.sampling import choose_greedy
from benchmarks.networks import Forward
from gameservers.head.blocks import BINARY, Form, read_block, read_request


def make_app(path: Path, form: Form) -> Starlette:
    forward = Forward(path)

    async def evaluate(request: Request) -> Response:
        block = read_block(*read_request(await request.body(), is_binary=True), form)
        actions = choose_greedy(forward.answer_logits(block.observations), block.masks)
        line = b'{"rows": %d}\n' % len(actions)
        return Response(line + actions.astype(np.int32).tobytes(), media_type=BINARY)

    return Starlette(routes=[Route("/evaluate", evaluate, methods=["POST"])])


if __name__ == "__main__":
    app = make_app(Path(sys.argv[2]), Form((3, 6, 7), 7))
    uvicorn.run(app, port=int(sys.argv[1]), log_level="warning", access_log=False)
