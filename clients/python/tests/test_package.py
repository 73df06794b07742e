import asyncio
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from conftest import Server

HERE = Path(__file__).parents[1]
USER = '''\
"""A program of somebody else."""

import asyncio

from toolbatch import Backend, Batch, BatchFinished, Call, CallFinished, Client, Context, Refused
from toolbatch.llm import openai
from toolbatch.v1 import task_pb2, task_pb2_grpc

backend = Backend()


@backend.tool("greet", "Greets")
async def greet(args: dict[str, str], context: Context) -> str:
    return f"Hello, {args['name']}, at attempt {context.attempt}"


async def main() -> None:
    async with Client() as client:
        async for event in client.run(Batch(task_id="T", calls=[Call("echo", {"n": 1})])):
            if isinstance(event, CallFinished):
                print(event.result.status, event.result.result_json)
            elif isinstance(event, BatchFinished):
                print(event.summary.status)
        stub = task_pb2_grpc.TaskServiceStub(client.channel)
        steps = await stub.ListSteps(task_pb2.ListStepsRequest(task_id="T"), metadata=client.metadata)
        print(len(steps.steps), len(await openai.definitions(client)) > 0)
        try:
            await client.get_batch("nothing")
        except Refused as error:
            print(error.status)


asyncio.run(main())
'''
WRONG = """\
from toolbatch import Batch, Call, Client

reveal_type(Client().get_batch)
Batch("T", [Call("echo", 7)])
"""


def run(*command: str | Path, cwd: Path, code: int = 0, **environment: str) -> str:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(command, cwd=cwd, env=kept | environment, capture_output=True, text=True, check=False)
    assert done.returncode == code, f"{command} ended with {done.returncode}:\n{done.stdout}{done.stderr}"
    return done.stdout


def install(folder: Path) -> Path:
    """Build the packages, look into them, install the wheel in a fresh environment, and give its Python."""
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", folder / "dist", cwd=HERE)
    (wheel,) = (folder / "dist").glob("*.whl")
    (source,) = (folder / "dist").glob("*.tar.gz")
    assert source.stat().st_size < 1_000_000
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    assert {"toolbatch/py.typed", "toolbatch/v1/batch_pb2.pyi", "toolbatch/llm/openai.py"} <= set(names)
    assert not [name for name in names if not name.startswith(("toolbatch/", "toolbatch-"))]
    run(sys.executable, "-m", "venv", "fresh", cwd=folder)
    python = folder / "fresh/bin/python"
    pip = (python, "-m", "pip", "--disable-pip-version-check", "--quiet")
    run(*pip, "install", wheel, "--constraint", HERE / "requirements.lock", cwd=folder)
    run(*pip, "check", cwd=folder)
    return python


@pytest.mark.timeout(400)
async def test_the_wheel_is_used_from_outside(tmp_path: Path, server: Server) -> None:
    python = await asyncio.to_thread(install, tmp_path)
    (tmp_path / "user.py").write_text(USER)
    (tmp_path / "wrong.py").write_text(WRONG)
    told = await asyncio.to_thread(run, python, "user.py", cwd=tmp_path, TOOLBATCH_SERVER=server.url)
    assert told.splitlines() == ['completed {"n":1}', "completed", "1 True", "NOT_FOUND"]
    mypy = (sys.executable, "-m", "mypy", "--strict", "--config-file=", f"--python-executable={python}")
    await asyncio.to_thread(run, *mypy, "user.py", cwd=tmp_path)
    told = await asyncio.to_thread(run, *mypy, "wrong.py", cwd=tmp_path, code=1)
    assert "BatchState" in told
    assert 'Argument 2 to "Call" has incompatible type "int"' in told
    assert "Too many positional arguments" in told
