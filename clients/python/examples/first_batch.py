"""Runs three calls side by side, and shows each as it lands."""

import asyncio

from toolbatch import Batch, BatchFinished, BatchMode, Call, CallFinished, Client, Options


async def main() -> None:
    """Greet three people, each once however often this runs."""
    calls = [Call("greet", {"name": name}, key=f"greet-{name}") for name in ("Ada", "Grace", "Edsger")]
    options = Options(mode=BatchMode.PARALLEL, stop_on_error=False)
    async with Client() as client:  # TOOLBATCH_SERVER, else http://127.0.0.1:50051
        async for event in client.run(Batch(task_id="greetings", calls=calls, options=options)):
            match event:
                case CallFinished(result=result):
                    print(result.key, result.status, result.error or result.value)
                case BatchFinished(summary=summary):
                    print(summary.status, summary.succeeded + summary.skipped, "of", summary.total)


asyncio.run(main())
