from pathlib import Path

import grpc
import pytest
import trustme
from conftest import Server, free_port
from grpc import aio
from tools import backend

from toolbatch import Batch, Call, Client, Refused, Unavailable
from toolbatch.v1 import task_pb2, task_pb2_grpc, tool_pb2, tool_pb2_grpc

BATCH = Batch(task_id="T", calls=[Call("context")])
TOKEN = "t0ken-of-the-agent"


class Files:
    """A private authority and a certificate of it, as files."""

    def __init__(self, folder: Path) -> None:
        authority = trustme.CA()
        certificate = authority.issue_cert("127.0.0.1")
        self.ca, self.cert, self.key = (folder / name for name in ("ca.pem", "cert.pem", "key.pem"))
        authority.cert_pem.write_to_path(self.ca)
        certificate.cert_chain_pems[0].write_to_path(self.cert)
        certificate.private_key_pem.write_to_path(self.key)


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path)


async def test_tls_with_a_private_authority_a_client_certificate_and_a_token(
    tmp_path: Path, backends: str, files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    tls = f'[tls]\ncert = "{files.cert}"\nkey = "{files.key}"\nclient_ca = "{files.ca}"\n'
    agent = '[[agents]]\nid = "me"\ntoken_env = "TOKEN_OF_ME"\ntools = ["context", "execute_tool_batch"]\n'
    monkeypatch.setenv("TOKEN_OF_ME", TOKEN)
    server = Server(tmp_path, f"127.0.0.1:{free_port()}", backends + agent + tls)
    await server.start()
    url = f"https://{server.listen}"
    async with Client(url, TOKEN, ca=files.ca, cert=files.cert, key=files.key) as client:
        assert (await client.result(BATCH)).results[0].value["agent_id"] == "me"
        listed = task_pb2.ListStepsRequest(task_id="T")
        steps = await task_pb2_grpc.TaskServiceStub(client.channel).ListSteps(listed, metadata=client.metadata)
        assert len(steps.steps) == 1
    async with Client(url, "stranger", ca=files.ca, cert=files.cert, key=files.key) as client:
        with pytest.raises(Refused, match="UNAUTHENTICATED"):
            await client.result(BATCH)
    monkeypatch.setenv("TOOLBATCH_TOKEN", TOKEN)
    monkeypatch.setenv("TOOLBATCH_SERVER", url)
    async with Client(ca=files.ca, cert=files.cert, key=files.key) as client:
        assert (await client.result(BATCH)).succeeded == 1
        assert TOKEN not in repr(client)
    async with Client(give_up_after=0.2) as client:
        with pytest.raises(Unavailable, match=r"CERTIFICATE_VERIFY_FAILED|handshake"):
            await client.result(BATCH)
    await server.stop()


async def test_a_backend_with_tls_takes_certified_callers_alone(files: Files) -> None:
    async with await backend.start("127.0.0.1:0", cert=files.cert, key=files.key, client_ca=files.ca) as running:
        ca, key, cert = (path.read_bytes() for path in (files.ca, files.key, files.cert))
        request = tool_pb2.CallToolRequest(tool="echo", args_json="{}")
        async with aio.secure_channel(running.address, grpc.ssl_channel_credentials(ca, key, cert)) as channel:
            assert (await tool_pb2_grpc.ToolServiceStub(channel).CallTool(request)).result_json == "{}"
        async with aio.secure_channel(running.address, grpc.ssl_channel_credentials(ca)) as channel:
            with pytest.raises(aio.AioRpcError):
                await tool_pb2_grpc.ToolServiceStub(channel).CallTool(request)


async def test_a_unix_socket_on_both_sides(tmp_path: Path) -> None:
    async with await backend.start(f"unix:{tmp_path}/b.sock") as running:
        config = f'[[backends]]\nname = "py"\naddresses = ["{running.address}"]\n'
        server = Server(tmp_path, f"unix:{tmp_path}/s.sock", config)
        await server.start()
        async with Client(server.url) as client:
            assert (await client.result(Batch(task_id="T", calls=[Call("echo")]))).succeeded == 1
        await server.stop()
