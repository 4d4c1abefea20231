"""An invitation: one string with all that a machine needs to join. It is a secret."""

from __future__ import annotations

import base64
import binascii
import json
from dataclasses import asdict

from synapse.errors import UsageError
from synapse.peers.mesh.membership import Membership
from synapse.peers.mesh.names import check_name

PREFIX = "synapse-mesh:"


def written(member: Membership) -> str:
    told = {key: value for key, value in asdict(member).items() if value and key != "instance"}
    data = json.dumps({"version": 1, **told}).encode()
    return PREFIX + base64.urlsafe_b64encode(data).decode().rstrip("=")


def is_invitation(text: str) -> bool:
    return text.strip().startswith(PREFIX)


def read(text: str) -> Membership:
    body = "".join(text.split()).removeprefix(PREFIX)
    try:
        told = json.loads(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)))
        if told["version"] != 1:
            raise UsageError("this invitation was made by another version of Synapse: use the same one here.")
        member = Membership.of({key: value for key, value in told.items() if key != "version"})
        check_name(member.machine, "machine")
        check_name(member.team, "team")
    except (ValueError, TypeError, KeyError, AttributeError, binascii.Error, RecursionError) as error:
        raise UsageError(
            "this is no whole invitation: copy all of what `synapse mesh invite` printed."
        ) from error
    return member
