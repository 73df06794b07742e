"""The tools of the tests: those of the conformance suite, and a few that only a test wants."""

import sys
import time
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[1] / "conformance"))

from backend import backend

from toolbatch import Context, ToolFailure


@backend.tool("threaded", "A function that is not async", reports_progress=True)
def threaded(args: dict[str, Any], context: Context) -> dict[str, Any]:
    context.progress(1, 1, "done")
    if "message" in args:
        raise ToolFailure(args["message"], code="T")
    return {"threaded": True}


@backend.tool("blocking", "Waits in a thread until it is cancelled")
def blocking(args: dict[str, Any], context: Context) -> None:
    Path(args["gate"]).with_suffix(".held").touch()
    while not context.cancelled:
        time.sleep(0.01)
    Path(args["gate"]).with_suffix(".cancelled").touch()


@backend.tool("nonsense", "Gives what JSON has no form for")
async def nonsense(_args: dict[str, Any]) -> object:
    return object()


async def held(path: Path) -> None:
    import asyncio

    while not path.exists():
        await asyncio.sleep(0.01)


__all__ = ["backend", "held"]
