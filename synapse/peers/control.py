"""HTTP over an agent's private socket, for our own commands. Light to import."""

import http.client
import json
import socket
from collections.abc import Iterator

from synapse.errors import SynapseError, TargetError, WaitTimeout
from synapse.registry import Entry


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: str, timeout: float) -> None:
        super().__init__("localhost", timeout=timeout)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


def call(
    entry: Entry, method: str, path: str, body: object = None, timeout: float = 10.0
) -> dict[str, object]:
    name = entry["name"]
    connection = _UnixConnection(str(entry["socket"]), timeout)
    try:
        data = None if body is None else json.dumps(body).encode()
        connection.request(method, path, data, {"Content-Type": "application/json"} if data else {})
        response = connection.getresponse()
        answer = json.loads(response.read())
    except (FileNotFoundError, ConnectionError) as error:
        raise TargetError(f"{name} has just ended: see `synapse logs {name}`.") from error
    except TimeoutError as error:
        raise WaitTimeout(
            f"{name} does not answer within {timeout:g} s: try again, or see `synapse logs {name}`."
        ) from error
    except (http.client.HTTPException, ValueError) as error:
        raise SynapseError(f"{name} gave an answer that makes no sense ({error}).") from error
    finally:
        connection.close()
    if response.status != 200:
        raise SynapseError(f"{name} refused: {answer.get('detail', response.reason)}.")
    return dict(answer)


def stream(entry: Entry, path: str) -> Iterator[str]:
    """The lines of a response that lasts as long as the agent."""
    connection = _UnixConnection(str(entry["socket"]), timeout=10.0)
    try:
        connection.request("GET", path)
        response = connection.getresponse()
        if connection.sock is not None:
            connection.sock.settimeout(None)
        for line in response:
            yield line.decode()
    except (OSError, http.client.HTTPException) as error:
        raise TargetError(f"{entry['name']} has just ended: see `synapse logs {entry['name']}`.") from error
    finally:
        connection.close()
