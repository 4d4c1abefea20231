"""The agent card of the A2A standard."""

from urllib.parse import urlsplit

from a2a.types import a2a_pb2 as pb
from google.protobuf.json_format import MessageToDict, ParseDict

from synapse.peers.mesh.names import BINDING
from synapse.server.about import REST, About
from synapse.server.standard.handler import INPUT_MODES
from synapse.tasks.expiry import EXTENSION
from synapse.tasks.task import Json

CONTEXT = "x-synapse-context"
EXTENSIONS = (CONTEXT, EXTENSION)
_HOW = (
    "A message is typed at the agent's own prompt as [A2A:<task>:<sender>] followed by its text. One turn at "
    "a time: the rest waits in a queue, by priority, then arrival. Priority 5 interrupts the running turn."
)
_METADATA = (
    f"Metadata under the key {EXTENSION}: a message may carry priority (1 to 5, default 1), sender "
    "({id, name}) and expires (seconds; it fails if the agent does not get it in time); a task carries them "
    "and its receipts, a failed one its error"
)
_INTERRUPT = {
    "id": "interrupt",
    "name": "Interrupt",
    "description": "A message of priority 5 interrupts what the agent is doing and is dealt with at "
    "once; a question of the agent's is answered by a message to the task that asks",
    "tags": ["priority", "control"],
}
_SECURITY: Json = {
    "securitySchemes": {
        "token": {"httpAuthSecurityScheme": {"scheme": "Bearer", "description": "the token of this agent"}},
        "key": {
            "apiKeySecurityScheme": {
                "location": "header",
                "name": "X-API-Key",
                "description": "the same token in another header",
            }
        },
    },
    "securityRequirements": [{"schemes": {"token": {}}}, {"schemes": {"key": {}}}],
}

_OLD_SCHEMES = {"httpAuthSecurityScheme": "http", "apiKeySecurityScheme": "apiKey"}


def agent_card(
    about: About, url: str = "", *, strict: bool = False, token_set: bool = False, full: bool = False
) -> pb.AgentCard:
    """`strict` leaves the 0.3 interfaces out. With a token set, only the extended card (`full`) has the
    agent's id and directory."""
    base = (url or about.url).rstrip("/")
    interfaces = [
        (version, binding, base + path)
        for version in (("1.0",) if strict else ("1.0", "0.3"))
        for binding, path in (("JSONRPC", "/"), ("HTTP+JSON", REST))
    ]
    if about.grpc_port:
        host = urlsplit(base).hostname or "localhost"
        interfaces.append(("1.0", "GRPC", f"{f'[{host}]' if ':' in host else host}:{about.grpc_port}"))
    if about.mesh_url:
        interfaces.append(("1.0", BINDING, about.mesh_url))
    known: Json = {"name": about.name, "agent_type": about.agent_type, "messages": _HOW}
    if full or not token_set:
        known |= {"agent_id": about.agent_id, "working_dir": about.working_dir}
    skill = {
        "id": about.agent_type,
        "name": about.what,
        "description": about.description or f"Does what {about.what} does: give it a task in plain words",
        "tags": ["agent", about.agent_type],
        "examples": ["review the changes in this directory"],
    }
    card: Json = {
        "name": about.name,
        "description": about.summary,
        "version": about.version,
        "supportedInterfaces": [
            {"url": address, "protocolBinding": binding, "protocolVersion": version}
            for version, binding, address in interfaces
        ],
        "defaultInputModes": INPUT_MODES,
        "defaultOutputModes": ("text/plain", "application/json"),
        "capabilities": {
            "streaming": True,
            "pushNotifications": True,
            "extendedAgentCard": token_set,
            "extensions": [
                _extension(CONTEXT, "Which agent this is, and how a message reaches it", known),
                _extension(EXTENSION, _METADATA, {"priorities": [1, 2, 3, 4, 5]}),
            ],
        },
        "skills": [skill, _INTERRUPT],
    }
    return ParseDict(card | _SECURITY if token_set else card, pb.AgentCard())


def card_document(card: pb.AgentCard, strict: bool = False) -> Json:
    """The card as JSON; unless `strict`, with the fields that 0.3 clients read."""
    found: Json = MessageToDict(card)
    return found if strict else _with_old_fields(found)


def _with_old_fields(card: Json) -> Json:
    first, *others = (each for each in card["supportedInterfaces"] if each["protocolVersion"] == "0.3")
    card |= {
        "url": first["url"],
        "preferredTransport": first["protocolBinding"],
        "protocolVersion": "0.3.0",
        "additionalInterfaces": [
            {"transport": each["protocolBinding"], "url": each["url"]} for each in others
        ],
    }
    for extension in card["capabilities"]["extensions"]:
        extension.setdefault("required", False)
    if "securitySchemes" in card:
        for scheme in card["securitySchemes"].values():
            for kind, old in _OLD_SCHEMES.items():
                if kind in scheme:
                    scheme |= {"in" if key == "location" else key: said for key, said in scheme[kind].items()}
                    scheme["type"] = old
        card["security"] = [{name: [] for name in each["schemes"]} for each in card["securityRequirements"]]
        card["supportsAuthenticatedExtendedCard"] = True
    return card


def _extension(uri: str, description: str, params: Json) -> Json:
    return {"uri": uri, "description": description, "required": False, "params": params}
