"""``gluster://``: a file of a GlusterFS volume, without a mount."""

from strata.schemes.declared import Scheme

SCHEME = Scheme(
    name="gluster",
    forms={"gluster": "gluster://host/volume/path/file"},
    file=True,
    library=True,
    verified=False,
    caches="the caches of its client library and its servers",
    hint="check that glusterd is running there and that the volume is started",
    figure=None,
)
