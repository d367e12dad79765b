"""``smb://``: a file on an SMB 3.1.1 share, without a mount."""

from strata.schemes.declared import Scheme

SCHEME = Scheme(
    name="smb",
    forms={"smb": "smb://user@host/share/file"},
    file=True,
    port=445,
    login=True,
    secrets=("STRATA_SMB_PASSWORD",),
    unbuffered=True,
    verified=False,
    caches="this SMB client has no cache, and the server's cache",
    not_fio="fio has no I/O engine for SMB shares",
)
