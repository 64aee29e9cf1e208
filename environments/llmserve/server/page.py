"""The page at /web: OpenEnv's own, with our example and the defaults of our actions."""

import os
from importlib import import_module
from typing import Any, Final

QUICK_START: Final = """\
### Connect to this environment

```python
from llmserve_env import LLMServeEnv

env = LLMServeEnv.from_url(
    "{url}"
)
env.reset(task_id="static_workload", seed=42)
env.step({{"batch_cap": 64}})
```

The form has one episode, of `static_workload`, which all visitors of this page share.
"""


def build_page(
    web_manager: Any,
    action_fields: list[dict[str, Any]],
    metadata: Any,
    is_chat_env: bool,
    title: str,
    quick_start_md: str,
) -> Any:
    """Return the page; its release 0.3 names a client that is none, and begins fields with 0."""
    del quick_start_md
    # Gradio takes seconds, and only who serves the page needs it.
    theirs = import_module("openenv.core.env_server.gradio_ui")
    example = QUICK_START.format(url=find_address())
    page = theirs.build_gradio_app(
        web_manager, action_fields, metadata, is_chat_env, title, example
    )
    defaults = {
        field["name"].replace("_", " ").title(): field["default_value"] for field in action_fields
    }
    for block in page.blocks.values():
        if getattr(block, "label", None) in defaults:
            block.value = defaults[block.label]
    return page


def find_address() -> str:
    """Return where a Space is, or else where the README starts the server."""
    host = os.environ.get("SPACE_HOST")
    return f"https://{host}" if host else "http://localhost:7860"
