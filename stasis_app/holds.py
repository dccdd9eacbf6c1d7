"""Who was put on hold, or taken off it, while no event came: Asterisk knows it of its SIP callers, and is asked."""

import logging
from collections.abc import Iterable

from .ari.errors import AriError, AriRefused
from .ari.events import ChannelHold, ChannelUnhold
from .ari.hub import EventHub
from .ari.rest import Ari

HELD = "CHANNEL(rtp,hold)"
"""Of chan_pjsip: "1" while the caller's phone has us on hold (channels/pjsip/dialplan_functions.c)."""

log = logging.getLogger(__name__)


async def tell_holds(channel_ids: Iterable[str], ari: Ari, hub: EventHub) -> None:
    """Tell the calls of these callers how it is now, as the events would have. AriError: ask again later.

    Of a caller whose channel cannot tell (one that is not SIP, or an Asterisk without that function) it is taken that
    they are not on hold: to speak to nobody for a while harms less than to be deaf to a caller who is back.
    """
    for channel_id in list(channel_ids):
        with hub.subscribe(channel_id) as news:
            held = await _is_held(ari, channel_id)
            channel = hub.callers.get(channel_id)
            # an event that came meanwhile is newer than the answer, or says the same
            if held is not None and channel is not None and not any(map(_is_of_holds, news.unread())):
                hub.tell(ChannelHold(channel) if held else ChannelUnhold(channel))


async def _is_held(ari: Ari, channel_id: str) -> bool | None:
    """None of a caller who is gone: the next look tells."""
    try:
        return await ari.channel_variable(channel_id, HELD) == "1"
    except AriError as error:
        if error.status is None or isinstance(error, AriRefused):
            raise
        log.debug("whether a caller is on hold: %s", error)
        return None if error.gone else False


def _is_of_holds(event: object) -> bool:
    return isinstance(event, ChannelHold | ChannelUnhold)
