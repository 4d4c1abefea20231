"""How the CLI of a profile looks on the screen: its YAML, its `screen.py`, and what all have in common.

A program of which nothing is known is read by the rules of all CLIs that come with Synapse: most programs of
this kind look like one of them.
"""

import logging
from dataclasses import replace
from functools import cache

from synapse.agents import folders
from synapse.agents.generic.screen import LOOK as GENERIC
from synapse.agents.look import Composer, Look, MenuStyle, merged
from synapse.profiles.loader import Profile, built_in_profile

logger = logging.getLogger(__name__)


def look_of(profile: Profile) -> Look:
    try:
        own = _own(profile.channel)
    except Exception:  # somebody else's package: the rules of the known CLIs do in its place
        logger.exception("how %s looks on the screen cannot be loaded", profile.channel)
        own = None
    look = known() if own is None else _complete(merged((GENERIC, _as_said(own, profile))))
    return look if own is not None else _as_said(look, profile, GENERIC.menus)


@cache
def known() -> Look:
    """The rules of all CLIs that come with Synapse."""
    looks = {name: _own(name) for name in folders.built_in()}
    said = [_as_said(look, built_in_profile(name)) for name, look in looks.items() if look is not None]
    look = merged((GENERIC, *said))
    surest_first = sorted(look.composers, key=lambda composer: (not composer.above, not composer.placeholder))
    return _with_composers(look, tuple(surest_first))


def _own(channel: str) -> Look | None:
    module = folders.load(channel, "screen")
    look: Look | None = None if module is None else module.LOOK
    return look


def _as_said(look: Look, profile: Profile, more: tuple[MenuStyle, ...] = ()) -> Look:
    """With what the profile says in place of what the look has."""
    if profile.composer is not None:
        boxes = [Composer(c.first, c.above, c.below or c.above, c.placeholder) for c in profile.composer]
        look = _with_composers(look, tuple(boxes))
    if profile.menus is not None:
        menus = [
            MenuStyle(m.mark, m.subject, m.letters, m.question_first, m.needs_hints) for m in profile.menus
        ]
        look = replace(look, menus=(*menus, *more))
    return look


def _complete(look: Look) -> Look:
    """A CLI of which neither its profile nor its `screen.py` says how it draws composer or menus."""
    if not look.composers:
        look = _with_composers(look, known().composers)
    return look if look.menus != GENERIC.menus else replace(look, menus=known().menus)


def _with_composers(look: Look, composers: tuple[Composer, ...]) -> Look:
    empty = tuple(composer.first for composer in composers if composer.placeholder)
    edges = {edge: None for composer in composers for edge in (composer.above, composer.below) if edge}
    reply = replace(look.reply, empty=empty, edges=tuple(edges))
    return replace(look, composers=composers, reply=reply)
