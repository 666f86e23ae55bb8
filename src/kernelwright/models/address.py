"""Where an endpoint is: whether it is local, and how its address may be shown.

Some addresses need no key, and some of those cost nothing. An address that holds a secret is refused.
"""

import ipaddress
from urllib.parse import urlsplit

from kernelwright.errors import UsageError

_OWN_ENDINGS = (".local", ".internal", ".lan", ".home.arpa")


def is_local(url: str) -> bool:
    """Whether the endpoint is on this machine or a private network: loopback, a private address, a bare host name."""
    host = _host(url)
    if is_loopback(url) or host.endswith(_OWN_ENDINGS):
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return bool(host) and "." not in host
    return address.is_private or address.is_link_local


def is_loopback(url: str) -> bool:
    """Whether the endpoint is on this machine."""
    host = _host(url)
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
    return address.is_loopback or address.is_unspecified


def _host(url: str) -> str:
    return (urlsplit(url).hostname or "").rstrip(".").lower()


def shown(url: str) -> str:
    """The address for a message: without user, password, query and fragment."""
    parts = urlsplit(url)
    port = f":{parts.port}" if parts.port else ""
    return f"{parts.scheme}://{parts.hostname or ''}{port}{parts.path}"


def checked(url: str) -> str:
    """The same address, if it is one and holds no secret.

    Raises:
        UsageError: it is no address of HTTP, or has a user or password in it.
    """
    try:
        parts = urlsplit(url)
        named = bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        named = False
    if not named or parts.scheme not in {"http", "https"}:
        raise UsageError("the base URL of a model must be http://HOST[:PORT]/PATH or https://HOST[:PORT]/PATH")
    if parts.username is not None or parts.password is not None or parts.query:
        raise UsageError(
            f"the base URL {shown(url)} has a user, a password or a query in it, which would be stored with the run: "
            "put the key into an environment variable and name that one"
        )
    return url
