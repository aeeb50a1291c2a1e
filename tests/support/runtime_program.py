"""A runtime as a program of its own, to be killed: `python -I FILE SOCKET TOKEN_FILE`.

It prints one line for each thing that happens, `taken THREAD ATTEMPT`, and works for ever on what it takes.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path


async def main() -> None:
    from bus.mailbox_client import MailboxClient

    async with MailboxClient(sys.argv[1], token_file=sys.argv[2]) as mailbox:
        async for delivery in mailbox:
            await delivery.start()
            print("taken", delivery.thread_id, delivery.attempt, flush=True)


if __name__ == "__main__":
    sys.path.append(str(Path(__file__).resolve().parents[2]))
    asyncio.run(main())
