"""Many senders, one disk: what comes while a batch is being written is written together with the next one."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from sfumato.local.collector import Collector, CollectorSet, Intake

MOST_WAITING = 256
"""So many requests wait for the disk at most; further ones are asked to come again."""


class Busy(Exception):
    """Too many requests wait for the disk."""


@dataclass(frozen=True)
class _Request:
    batch: Any
    answer: asyncio.Future[Intake]


class Commits:
    """Writes batches one after the other in a thread, as many together as are waiting."""

    def __init__(self, collector: Collector | CollectorSet) -> None:
        self.collector = collector
        self._waiting: asyncio.Queue[_Request] = asyncio.Queue(MOST_WAITING)
        self._task = asyncio.create_task(self._run())

    @property
    def waiting(self) -> int:
        """How many requests wait for the disk."""
        return self._waiting.qsize()

    async def add(self, batch: Any) -> Intake:
        """Return what became of a batch, once it is safe on the disk."""
        request = _Request(batch, asyncio.get_running_loop().create_future())
        try:
            self._waiting.put_nowait(request)
        except asyncio.QueueFull:
            raise Busy from None
        return await request.answer

    async def close(self) -> None:
        """Write what is waiting, and stop."""
        await self._waiting.join()
        self._task.cancel()
        with suppress(asyncio.CancelledError):
            await self._task

    async def _run(self) -> None:
        while True:
            requests = [await self._waiting.get()]
            while not self._waiting.empty():
                requests.append(self._waiting.get_nowait())
            await self._commit(requests)
            for _ in requests:
                self._waiting.task_done()

    async def _commit(self, requests: list[_Request]) -> None:
        try:
            said = await asyncio.to_thread(self.collector.add_batches, [request.batch for request in requests])
        except Exception as problem:
            # A full disk must not end the service: every sender is told, and the next batch is tried.
            for request in requests:
                _settle(request.answer, problem)
            return
        for request, intake in zip(requests, said, strict=True):
            _settle(request.answer, intake)


def _settle(answer: asyncio.Future[Intake], outcome: Intake | Exception) -> None:
    """Answer a request, unless its sender has gone."""
    if answer.done():
        return
    if isinstance(outcome, Intake):
        answer.set_result(outcome)
    else:
        answer.set_exception(outcome)
