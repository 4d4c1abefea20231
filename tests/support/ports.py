"""Ports for servers and agents of tests."""

import random
import socket


def free_port() -> int:
    """Neither one of the agents' ranges nor one that the system gives to clients: other tests on this
    machine take those, also between an end and the next start."""
    while True:
        port = random.randrange(20_000, 30_000)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
                return port
            except OSError:
                continue


def listener(port: int = 0) -> socket.socket:
    """On loopback. asyncio sets TCP_NODELAY only on sockets whose protocol is TCP; without it each response
    on a kept connection takes 40 ms more."""
    made = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    made.bind(("127.0.0.1", port))
    made.listen()
    return made
