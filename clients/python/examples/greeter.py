"""Serves one tool, at the address that is given: `python greeter.py 127.0.0.1:7001`."""

import asyncio
import sys
from typing import Any

from toolbatch import Backend, Context, ToolFailure

backend = Backend()
NAMED = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}


@backend.tool("greet", "Greets someone by name", input_schema=NAMED)
async def greet(args: dict[str, Any], context: Context) -> dict[str, str]:
    """Greet."""
    if not args["name"]:
        raise ToolFailure("there is nobody to greet", code="NOBODY")
    context.usage("greetings", 1)
    return {"greeting": f"Hello, {args['name']}"}


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("expected one argument, the address to serve at, such as 127.0.0.1:7001")
    asyncio.run(
        backend.serve(sys.argv[1], on_listening=lambda running: print("listening at", running.address, flush=True))
    )
