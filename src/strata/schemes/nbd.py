"""``nbd://`` and ``nbd+unix://``: an export of an NBD server."""

from strata.schemes.declared import Scheme

SCHEME = Scheme(
    name="nbd",
    forms={"nbd": "nbd://host:port/export", "nbd+unix": "nbd+unix:///?socket=/path"},
    file=False,
    port=10809,
    caches="an NBD client has no cache, and the server's cache",
    hint="check that the server is running and that the export name is correct",
    fio="nbd",
)
