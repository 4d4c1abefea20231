"""The card: what an agent says of itself to whoever speaks the standard."""

from __future__ import annotations

from a2a.server.request_handlers.response_helpers import agent_card_to_dict
from a2a.types import a2a_pb2 as pb
from google.protobuf.json_format import MessageToDict, ParseDict

from synapse.server.about import REST, About
from synapse.server.standard.convert import EXTENSION
from synapse.server.standard.handler import INPUT_MODES
from synapse.tasks.task import Json

CONTEXT = "x-synapse-context"
EXTENSIONS = (CONTEXT, EXTENSION)
_HOW = (
    "A message is typed at the agent's own prompt as [A2A:<task>:<sender>] followed by its text. One turn at "
    "a time: the rest waits in a queue, by priority, then arrival. Priority 5 interrupts the running turn."
)


def agent_card(
    about: About, url: str = "", *, strict: bool = False, token_set: bool = False, full: bool | None = None
) -> pb.AgentCard:
    """`strict` leaves the 0.3 interfaces out. With a token set, where and who exactly is told to those who
    have it, in the extended card (`full`)."""
    base = (url or about.url).rstrip("/")
    card = pb.AgentCard(
        name=about.name,
        description=about.summary,
        version=about.version,
        default_input_modes=INPUT_MODES,
        default_output_modes=("text/plain", "application/json"),
        capabilities=pb.AgentCapabilities(
            streaming=True, push_notifications=True, extended_agent_card=token_set
        ),
        skills=_skills(about),
    )
    for version in ("1.0",) if strict else ("1.0", "0.3"):
        for binding, path in (("JSONRPC", "/"), ("HTTP+JSON", REST)):
            card.supported_interfaces.add(url=base + path, protocol_binding=binding, protocol_version=version)
    if about.grpc:
        card.supported_interfaces.add(url=about.grpc, protocol_binding="GRPC", protocol_version="1.0")
    known: Json = {"name": about.name, "agent_type": about.agent_type, "messages": _HOW}
    if full if full is not None else not token_set:
        known |= {"agent_id": about.agent_id, "working_dir": about.working_dir}
    _extend(card, CONTEXT, "Which agent this is, and how a message reaches it", known)
    _extend(
        card,
        EXTENSION,
        f"Metadata under the key {EXTENSION}: a message may carry priority (1 to 5, default 1) and sender "
        "({id, name}); a task carries them and its receipts, a failed one its error",
        {"priorities": [1, 2, 3, 4, 5]},
    )
    if token_set:
        scheme = pb.HTTPAuthSecurityScheme(scheme="Bearer", description="the token of this agent")
        card.security_schemes["token"].http_auth_security_scheme.CopyFrom(scheme)
        card.security_requirements.add().schemes["token"].CopyFrom(pb.StringList())
    return card


def card_document(card: pb.AgentCard, strict: bool = False) -> Json:
    """The card as JSON, with the fields that 0.3 clients read unless it is to be strict."""
    found: Json = MessageToDict(card) if strict else agent_card_to_dict(card)
    if "protocolVersion" in found:
        found["protocolVersion"] = "0.3.0"
    return found


def _skills(about: About) -> list[pb.AgentSkill]:
    return [
        pb.AgentSkill(
            id=about.agent_type,
            name=about.what,
            description=about.description or f"Does what {about.what} does: give it a task in plain words",
            tags=["agent", about.agent_type],
            examples=["review the changes in this directory"],
        ),
        pb.AgentSkill(
            id="interrupt",
            name="Interrupt",
            description="A message of priority 5 interrupts what the agent is doing and is dealt with at "
            "once; a question of the agent's is answered by a message to the task that asks",
            tags=["priority", "control"],
        ),
    ]


def _extend(card: pb.AgentCard, uri: str, description: str, params: Json) -> None:
    extension = card.capabilities.extensions.add(uri=uri, description=description, required=False)
    ParseDict(params, extension.params)
