"""An event loop in a thread of its own, in the network namespace in which connections are to be opened."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

from strata.host import netns

T = TypeVar("T")


class Background:
    """``begun`` runs first in the thread, once it is in the namespace. Raises what entering or ``begun`` raises."""

    def __init__(self, namespace: str | None, begun: Callable[[], None]) -> None:
        self._loop = asyncio.new_event_loop()
        ready: Future[None] = Future()

        def work() -> None:
            try:
                if namespace is not None:
                    netns.enter(namespace)
                begun()
            except BaseException as e:
                self._loop.close()
                ready.set_exception(e)
                return
            ready.set_result(None)
            asyncio.set_event_loop(self._loop)
            try:
                self._loop.run_forever()
            finally:
                self._loop.close()

        self._thread = threading.Thread(target=work, name="strata-cluster", daemon=True)
        self._thread.start()
        try:
            ready.result()
        except BaseException:
            self._thread.join()
            raise

    def start(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Begins it there."""
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Waits for it; a signal meanwhile cancels it."""
        future = self.start(work)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def stop(self) -> None:
        """Ends the thread; what is still to be done in its loop is cancelled."""

        async def leave() -> None:
            others = asyncio.all_tasks() - {asyncio.current_task()}
            for task in others:
                task.cancel()
            await asyncio.wait(others, timeout=2) if others else None
            self._loop.stop()

        if self._thread.is_alive():
            self.start(leave())
            self._thread.join(5)
