"""The `Look` of a profile: from its YAML, its `screen.py`, and the rules for every CLI.

A program without rules of its own is read by the rules of all built-in CLIs: most programs of this kind look
like one of them.
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
        own = _screen(profile.channel)
    except Exception:  # of another package: the rules of the built-in CLIs take its place
        logger.exception("how %s looks on the screen cannot be loaded", profile.channel)
        own = None
    look = merged((GENERIC, *(_built_in().values() if own is None else [own])))
    composers, menus = _composers(profile), (*_menus(profile), *GENERIC.menus)
    if profile.composer is None:
        composers = look.composers or known().composers
    if profile.menus is None:
        menus = look.menus if look.menus != GENERIC.menus else known().menus
    return _with(look, composers, menus)


@cache
def known() -> Look:
    profiles = [built_in_profile(name) for name in _built_in()]
    composers = [composer for profile in profiles for composer in _composers(profile)]
    composers.sort(key=lambda composer: (not composer.above, not composer.placeholder))  # the surest first
    menus = [menu for profile in profiles for menu in _menus(profile)]
    return _with(merged((GENERIC, *_built_in().values())), tuple(composers), (*menus, *GENERIC.menus))


def _built_in() -> dict[str, Look]:
    """In a program that does not indent all of its conversation, an indented mark may begin a quotation."""
    looks = {name: _screen(name) for name in folders.built_in()}
    return {
        name: replace(look, reply=replace(look.reply, inner_echo=""))
        for name, look in looks.items()
        if look is not None
    }


def _screen(channel: str) -> Look | None:
    module = folders.load(channel, "screen")
    look: Look | None = None if module is None else module.LOOK
    return look


def _composers(profile: Profile) -> tuple[Composer, ...]:
    return tuple(Composer(**said) for said in profile.composer or ())


def _menus(profile: Profile) -> tuple[MenuStyle, ...]:
    return tuple(MenuStyle(**said) for said in profile.menus or ())


def _with(look: Look, composers: tuple[Composer, ...], menus: tuple[MenuStyle, ...]) -> Look:
    empty = tuple(composer.first for composer in composers if composer.placeholder)
    edges = dict.fromkeys(edge for composer in composers for edge in (composer.above, composer.below) if edge)
    reply = replace(look.reply, empty=empty, edges=tuple(edges))
    return replace(look, composers=composers, menus=menus, reply=reply)
