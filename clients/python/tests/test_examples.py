import asyncio
import os
import sys
from pathlib import Path

from conftest import Server, free_port

EXAMPLES = Path(__file__).parents[1] / "examples"


async def started(name: str, *args: str, **environment: str) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        sys.executable,
        str(EXAMPLES / name),
        *args,
        env=os.environ | environment,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )


async def output(name: str, server: Server, text: str = "") -> list[str]:
    process = await started(name, TOOLBATCH_SERVER=server.url)
    out, _ = await process.communicate(text.encode())
    assert process.returncode == 0
    return out.decode().splitlines()


async def test_the_examples(tmp_path: Path) -> None:
    greeter = await started("greeter.py", "127.0.0.1:0")
    assert greeter.stdout is not None
    address = (await greeter.stdout.readline()).decode().split()[-1]
    config = f'[[backends]]\nname = "greeter"\naddresses = ["http://{address}"]\n'
    server = Server(tmp_path, f"127.0.0.1:{free_port()}", config)
    await server.start()
    lines = await output("first_batch.py", server)
    assert "greet-Ada completed {'greeting': 'Hello, Ada'}" in lines
    assert lines[-1] == "completed 3 of 3"
    again = await output("first_batch.py", server)
    assert "greet-Ada skipped {'greeting': 'Hello, Ada'}" in again
    block = '{"type":"tool_use","id":"t-1","name":"greet","input":{"name":"Ada"}}'
    answer = await output("model.py", server, '{"content":[{"type":"text","text":"I greet."},' + block + "]}")
    assert answer == [r'[{"type":"tool_result","tool_use_id":"t-1","content":"{\"greeting\":\"Hello, Ada\"}"}]']
    await server.stop()
    greeter.terminate()
    assert await greeter.wait() == 0
