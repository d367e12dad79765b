"""The server itself: a socket, what listens at it, and the end by a signal."""

from __future__ import annotations

import logging
import socket
import threading
from collections.abc import Callable

import uvicorn

from strata.app.serving import Listening, load
from strata.serve.guard import HEADERS_MOST, Entrance
from strata.serve.shown import compile_all
from strata.serve.site import application

CONNECTIONS_MOST = 100
IDLE_S = 10
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
            http="h11",
            loop="asyncio",
            h11_max_incomplete_event_size=HEADERS_MOST,
            limit_concurrency=CONNECTIONS_MOST,
            timeout_keep_alive=IDLE_S,
            timeout_graceful_shutdown=END_S,
            ssl_certfile=listening.certificate,
            ssl_keyfile=listening.key,
        )
        listener.listen(socket.SOMAXCONN)
        threading.Thread(target=_ready, name="ready", daemon=True).start()
        say(listening.address(port))
        uvicorn.Server(config).run(sockets=[listener])


def _ready() -> None:
    """Meanwhile, what a first page would wait for is loaded."""
    compile_all()
    load()
