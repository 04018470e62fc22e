"""Calling the service from Python, and playing data sets into it."""

from clearwatt.service.client.calls import Client, Series, stamp
from clearwatt.service.client.connection import ServiceError, ServiceUnreachableError

__all__ = ["Client", "Series", "ServiceError", "ServiceUnreachableError", "stamp"]
