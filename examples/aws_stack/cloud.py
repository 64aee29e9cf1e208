"""Clients of AWS, or of what stands in for it."""

import os
from typing import Any, Final

import boto3
from botocore.config import Config

REGION: Final = "eu-west-1"
# What a shard refuses for a moment (ProvisionedThroughputExceeded) is asked again.
_CONFIG: Final = Config(retries={"mode": "standard", "max_attempts": 10})


def connect(service: str, endpoint: str) -> Any:
    """Return a client of a service; endpoint "": of AWS itself, with the login of this machine."""
    if not endpoint:
        return boto3.client(service, config=_CONFIG)
    os.environ.setdefault("AWS_ACCESS_KEY_ID", "stand-in")
    os.environ.setdefault("AWS_SECRET_ACCESS_KEY", "stand-in")
    return boto3.client(service, endpoint_url=endpoint, region_name=REGION, config=_CONFIG)
