"""The server itself: a socket, what listens at it, and the end by a signal."""

from __future__ import annotations

import gc
import logging
import socket
import threading
from collections.abc import Callable
from contextlib import suppress

import uvicorn

from strata.app.serve import Listening, load
from strata.errors import StrataError
from strata.serve.feeds import Feeds
from strata.serve.guard import HEADERS_MOST, Entrance
from strata.serve.patience import CONNECTIONS_MOST, IDLE_S, Patient
from strata.serve.runs import RunPages
from strata.serve.shown import compile_all
from strata.serve.site import application

READY_S = 2.0
END_S = 1
"""Who follows a run is let go of after so long: his page asks again."""


def serve(listening: Listening, say: Callable[[str], None]) -> None:
    """Until a signal ends it, which is raised then as it would have been without a server.

    ``say`` is told the address as soon as it is answered at.
    """
    with listening.bound() as listener:
        port = listener.getsockname()[1]
        entrance = Entrance(
            hosts=listening.names(port), token=listening.token, port=port, secure=listening.secure,
            control=listening.control,
        )  # fmt: skip
        quiet = logging.getLogger("uvicorn")
        quiet.addHandler(logging.NullHandler())
        quiet.propagate = False
        config = uvicorn.Config(
            application(listening.store, entrance),
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            lifespan="off",
            ws="none",
            http=Patient,
            loop="asyncio",
            h11_max_incomplete_event_size=HEADERS_MOST,
            limit_concurrency=CONNECTIONS_MOST,
            timeout_keep_alive=int(IDLE_S),
            timeout_graceful_shutdown=END_S,
            ssl_certfile=listening.certificate,
            ssl_keyfile=listening.key,
        )
        listener.listen(socket.SOMAXCONN)
        ready = threading.Thread(target=_ready, args=(listening.store,), name="ready", daemon=True)
        ready.start()
        # Who opens the address at once would wait for it all the same. A store that does not answer is no reason to
        # keep silent.
        ready.join(READY_S)
        say(listening.address(port))
        uvicorn.Server(config).run(sockets=[listener])


def _ready(store: str | None) -> None:
    """What a first page would wait for is loaded and made once."""
    compile_all()
    load()
    with suppress(StrataError):
        RunPages(store, Feeds(store), control=False).listed({}).html("")
    # What is loaded stays: without this, each tenth page or so waits for Python to walk through all of it.
    gc.collect()
    gc.freeze()
