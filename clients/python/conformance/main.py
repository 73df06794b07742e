"""The program that the conformance suite starts: `main.py client`, or `main.py backend HOST:PORT`."""

import asyncio
import sys

import backend
import client


def main() -> int:
    """Be what the arguments say."""
    match sys.argv[1:]:
        case ["client"]:
            asyncio.run(client.main())
        case ["backend", address]:
            asyncio.run(backend.main(address))
        case _:
            print("usage: main.py client | backend HOST:PORT", file=sys.stderr)
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
