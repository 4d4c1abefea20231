"""Streams of events. An event of version 1.0 is encoded once for all clients."""

import json
from collections.abc import AsyncGenerator, AsyncIterable, Callable
from typing import Any

from a2a.utils import errors
from a2a.utils.error_handlers import build_rest_error_payload
from a2a.utils.proto_utils import to_stream_response
from google.protobuf.json_format import MessageToDict

from synapse.server.standard.convert import shared


@shared
def text_of(event: Any) -> str:
    # ASCII only: some clients end a line at other characters than a newline.
    return json.dumps(MessageToDict(to_stream_response(event)))


def framed(text: str) -> bytes:
    return b"data: " + text.encode() + b"\n\n"


async def begun(
    stream: AsyncIterable[Any],
    frame: Callable[[Any], bytes],
    failed: Callable[[errors.A2AError], Any] = build_rest_error_payload,
) -> AsyncGenerator[bytes, None]:
    """The stream as bytes. Its first event is read here, so that a refusal is not part of the stream."""
    events = aiter(stream)
    first = await anext(events)

    async def chunks() -> AsyncGenerator[bytes, None]:
        try:
            yield frame(first)
            async for event in events:
                yield frame(event)
        except errors.A2AError as error:
            yield b"event: error\n" + framed(json.dumps(failed(error)))
        finally:
            if isinstance(events, AsyncGenerator):
                await events.aclose()

    return chunks()
