"""One request through an official SDK, and what its exceptions mean.

OpenAI's and Anthropic's SDKs are generated from one template and name their exceptions alike, so one reading serves
both.
"""

import asyncio
from collections.abc import Awaitable
from types import ModuleType
from typing import Any

from kernelwright.models.fault import Complaint, Fault, refused


async def body_of(sdk: ModuleType, root: type[Exception], request: Awaitable[Any], timeout_s: float) -> str | Fault:
    """The raw body of a response.

    Args:
        sdk: the SDK's module.
        root: of all its exceptions.
        request: a call of one of its methods `with_raw_response`.
        timeout_s: for the whole call; the SDK's own starts anew with every packet.
    """
    try:
        async with asyncio.timeout(timeout_s):
            return str((await request).http_response.text)
    except (TimeoutError, sdk.APITimeoutError):
        return Fault("timeout")
    except sdk.APIStatusError as error:
        return refused(error.status_code, error.response.headers, error.response.text)
    except sdk.APIConnectionError as error:
        return Fault("connection", complaint=Complaint(str(error.__cause__ or error)))
    except root as error:
        return Fault("garbled", complaint=Complaint(str(error)))
