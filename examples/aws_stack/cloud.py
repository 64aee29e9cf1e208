"""Clients of AWS, or of what stands in for it."""

import os
from typing import Any, Final

import boto3
from botocore.config import Config

REGION: Final = "eu-west-1"
# What a shard refuses for a moment (ProvisionedThroughputExceeded) is asked again.
_RETRIES: Final = Config(retries={"mode": "standard", "max_attempts": 10})
# Of links: the older signature is what boto3 still takes for S3 where nothing is said.
_SIGNATURES: Final = {"s3": "s3v4"}


def connect(service: str, endpoint: str) -> Any:
    """Return a client of a service; endpoint "": of AWS itself, with the login of this machine."""
    config = _RETRIES.merge(Config(signature_version=_SIGNATURES.get(service)))
    if not endpoint:
        return boto3.client(service, config=config)
    os.environ.setdefault("AWS_ACCESS_KEY_ID", "stand-in")
    os.environ.setdefault("AWS_SECRET_ACCESS_KEY", "stand-in")
    return boto3.client(service, endpoint_url=endpoint, region_name=REGION, config=config)
