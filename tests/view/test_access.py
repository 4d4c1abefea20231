"""Who may use the view: tokens that work once, and cookies."""

from __future__ import annotations

from synapse.view.access import MOST_SESSIONS, MOST_TOKENS, TOKEN_SECONDS, Access


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def entered(access: Access) -> str:
    header = access.enter(access.new_token())
    assert header is not None
    return header.partition(";")[0]


def test_a_token_works_once() -> None:
    access = Access(8090)
    token = access.new_token()
    header = access.enter(token)
    assert header is not None and "HttpOnly" in header and "SameSite=Strict" in header
    assert access.allows(header.partition(";")[0])
    assert access.enter(token) is None


def test_a_token_that_is_too_old_or_wrong_lets_nobody_in() -> None:
    clock = Clock()
    access = Access(8090, clock)
    token = access.new_token()
    assert access.enter("") is None and access.enter("x") is None and access.enter("ü") is None
    clock.now += TOKEN_SECONDS + 1
    assert access.enter(token) is None


def test_only_the_cookie_of_this_view_counts() -> None:
    access, other = Access(8090), Access(8091)
    mine = entered(access)
    assert access.allows(f"a=b; {mine}; c") and not other.allows(mine)
    name, _, value = mine.partition("=")
    for cookies in ("", name, f"{name}=", f"{name}={value}x", f"x{name}={value}", f"{name}=ü"):
        assert not access.allows(cookies)


def test_tokens_and_sessions_are_bounded() -> None:
    access = Access(8090)
    first = access.new_token()
    for _ in range(MOST_TOKENS):
        access.new_token()
    assert access.enter(first) is None
    oldest = entered(access)
    for _ in range(MOST_SESSIONS):
        entered(access)
    assert not access.allows(oldest)
