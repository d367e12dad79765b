"""``s3://``: an object of an S3 server, over plain HTTP."""

from collections.abc import Mapping, Sequence

from strata.schemes.declared import Scheme


def _problem(names: Sequence[str], _query: Mapping[str, Sequence[str]]) -> str | None:
    _, *there = names
    return None if len(there) > 1 and all(there) else "bucket and key are missing"


SCHEME = Scheme(
    name="s3",
    forms={"s3": "s3://host[:port]/bucket/key"},
    file=True,
    port=80,
    problem=_problem,
    secrets=("AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"),
    whole=True,
    verified=False,
    caches="an S3 client has no cache, and the server's cache",
    not_fio="Strata does not run fio over s3: its http engine stores each block as a separate object",
)
