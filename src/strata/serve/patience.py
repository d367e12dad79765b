"""How long a connection may hold a place: nobody needs a token to connect, and there are as many as are served.

Who asks nothing is let go of after a while, and at once where somebody else would find no place; so is who does not
take what he was answered.
"""

from __future__ import annotations

import asyncio
from typing import cast

from uvicorn.protocols.http.h11_impl import H11Protocol

CONNECTIONS_MOST = 100
IDLE_S = 10.0
"""Without a whole request."""
UNREAD_S = 30.0
"""Until what waits of an answer is taken: a page that follows a run asks again."""


class Patient(H11Protocol):
    """uvicorn's own, with an end to its patience."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Makes room for this one among those that ask nothing."""
        super().connection_made(transport)
        self._since = self.loop.time()
        self._idle = self.loop.call_later(IDLE_S, self._let_go_idle)
        self._unread: asyncio.TimerHandle | None = None
        while len(self.connections) >= CONNECTIONS_MOST:
            there = [cast(Patient, one) for one in self.connections if one is not self]
            if not (idle := [one for one in there if one.asks_nothing]):
                return
            min(idle, key=lambda one: one._since).let_go()

    @property
    def asks_nothing(self) -> bool:
        """Whether no request waits for the rest of its answer."""
        return self.cycle is None or self.cycle.response_complete

    def let_go(self) -> None:
        """Without waiting for what was not taken. From now on it holds no place."""
        self.connections.discard(self)
        self.transport.abort()

    def on_response_complete(self) -> None:
        """The time for the next request begins."""
        self._since = self.loop.time()
        self._idle.cancel()
        self._idle = self.loop.call_later(IDLE_S, self._let_go_idle)
        super().on_response_complete()

    def pause_writing(self) -> None:
        """The answer is not taken as quickly as it is made."""
        super().pause_writing()
        self._stop_unread()
        self._unread = self.loop.call_later(UNREAD_S, self.let_go)

    def resume_writing(self) -> None:
        """It is again."""
        self._stop_unread()
        super().resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing is waited for any more."""
        self._idle.cancel()
        self._stop_unread()
        super().connection_lost(exc)

    def _let_go_idle(self) -> None:
        if self.asks_nothing and self.transport.get_write_buffer_size():
            self._idle = self.loop.call_later(UNREAD_S, self.let_go)
        elif self.asks_nothing:
            self.let_go()

    def _stop_unread(self) -> None:
        if self._unread is not None:
            self._unread.cancel()
            self._unread = None
