# mypy: ignore-errors
"""A client of version 0.3 that we did not write, in an environment of its own: client_03.py URL BINDING"""

import asyncio
import json
import sys
import uuid

import httpx
from a2a.client import A2ACardResolver, ClientConfig, ClientFactory
from a2a.types import (
    Message,
    Part,
    Role,
    TaskArtifactUpdateEvent,
    TaskIdParams,
    TaskQueryParams,
    TextPart,
    TransportProtocol,
)


def message(text, **more):
    part = Part(root=TextPart(text=text))
    return Message(message_id=str(uuid.uuid4()), role=Role.user, parts=[part], **more)


def text(parts):
    return "".join(part.root.text for part in parts)


async def main(url, binding):
    found = {}
    async with httpx.AsyncClient(timeout=20) as http:
        card = await A2ACardResolver(http, url).get_agent_card()
        found["version"] = card.protocol_version

        def client(streaming):
            config = ClientConfig(
                streaming=streaming,
                httpx_client=http,
                supported_transports=[TransportProtocol(binding)],
                use_client_preference=True,
            )
            return ClientFactory(config).create(card)

        async def send(text, **more):
            async for event in client(streaming=False).send_message(message(text, **more)):
                task, _ = event
            return task

        found["said"] = text((await send("say hello")).artifacts[0].parts)
        streamed, finals = "", []
        async for known, update in client(streaming=True).send_message(message("stream a|b|c")):
            task = known
            if isinstance(update, TaskArtifactUpdateEvent):
                piece = text(update.artifact.parts)
                streamed = streamed + piece if update.append else piece
            elif update is not None:
                finals.append(update.final)
        found["streamed"], found["finals"], found["kept"] = streamed, finals, text(task.artifacts[0].parts)
        asking = await send("ask Run ls?")
        found["asking"] = asking.status.state.value
        found["question"] = asking.status.message.parts[0].root.text
        found["options"] = asking.status.message.parts[1].root.data["options"]
        answered = await send("y", task_id=asking.id, context_id=asking.context_id)
        found["answered"] = text(answered.artifacts[0].parts)
        parked = await send("park what next?")
        canceled = await client(streaming=False).cancel_task(TaskIdParams(id=parked.id))
        found["canceled"] = canceled.status.state.value
        try:
            await client(streaming=False).get_task(TaskQueryParams(id="nothing"))
        except Exception as error:
            found["unknown"] = str(error)
    print(json.dumps(found))


asyncio.run(main(*sys.argv[1:]))
