import asyncio
import os
import re
import sys
from pathlib import Path

from conftest import Server, free_port

HERE = Path(__file__).parents[1]
EXAMPLES = HERE / "examples"


async def started(program: Path, *args: str, **environment: str) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        sys.executable,
        str(program),
        *args,
        env=os.environ | environment,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )


async def output(program: Path, server: Server, text: str = "") -> list[str]:
    process = await started(program, TOOLBATCH_SERVER=server.url)
    out, _ = await process.communicate(text.encode())
    assert process.returncode == 0
    return out.decode().splitlines()


async def test_the_examples(tmp_path: Path) -> None:
    greeter = await started(EXAMPLES / "greeter.py", "127.0.0.1:0")
    assert greeter.stdout is not None
    address = (await greeter.stdout.readline()).decode().split()[-1]
    config = f'[[backends]]\nname = "greeter"\naddresses = ["http://{address}"]\n'
    server = Server(tmp_path, f"127.0.0.1:{free_port()}", config)
    await server.start()
    lines = await output(EXAMPLES / "first_batch.py", server)
    assert "greet-Ada completed {'greeting': 'Hello, Ada'}" in lines
    assert lines[-1] == "completed 3 of 3"
    again = await output(EXAMPLES / "first_batch.py", server)
    assert "greet-Ada skipped {'greeting': 'Hello, Ada'}" in again
    block = '{"type":"tool_use","id":"t-1","name":"greet","input":{"name":"Ada"}}'
    answer = await output(
        EXAMPLES / "model.py", server, '{"content":[{"type":"text","text":"I greet."},' + block + "]}"
    )
    assert answer == [r'[{"type":"tool_result","tool_use_id":"t-1","content":"{\"greeting\":\"Hello, Ada\"}"}]']
    await server.stop()
    greeter.terminate()
    assert await greeter.wait() == 0


async def test_the_readme(tmp_path: Path) -> None:
    first, _, backend, *_ = re.findall(r"```python\n(.*?)```", (HERE / "README.md").read_text(), re.DOTALL)
    address = f"127.0.0.1:{free_port()}"
    (tmp_path / "first.py").write_text(first)
    (tmp_path / "backend.py").write_text(backend.replace("127.0.0.1:7001", address))
    assert len(first.splitlines()) < 20
    serving = await started(tmp_path / "backend.py")
    server = Server(
        tmp_path, f"127.0.0.1:{free_port()}", f'[[backends]]\nname = "r"\naddresses = ["http://{address}"]\n'
    )
    await server.start()
    assert await output(tmp_path / "first.py", server) == ["greet completed Hello, Ada", "completed 1 of 1"]
    await server.stop()
    serving.terminate()
    assert await serving.wait() == 0
