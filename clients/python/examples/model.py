"""Runs what a model of Anthropic asks for: reads the model's message from the input, and writes the blocks that answer it."""

import asyncio
import sys

from toolbatch import Client, dumps, loads
from toolbatch.llm import anthropic


async def main() -> None:
    """Answer one message."""
    blocks = [block for block in loads(sys.stdin.read())["content"] if block["type"] == "tool_use"]
    async with Client() as client:
        print(dumps([await anthropic.tool_call(client, "chat-1", block) for block in blocks]))


asyncio.run(main())
