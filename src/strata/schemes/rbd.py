"""``rbd:``: an image of a Ceph cluster, without mapping it."""

from strata.schemes.declared import Scheme

SCHEME = Scheme(
    name="rbd",
    forms={"rbd": "rbd:pool/image[?conf=/etc/ceph/ceph.conf&user=admin]"},
    file=True,
    library=True,
    verified=False,
    named=False,
    caches="the caches of its client library and its servers",
    hint="check it with rbd info; ?conf=PATH and ?user=NAME select cluster and user",
    figure=None,
)
