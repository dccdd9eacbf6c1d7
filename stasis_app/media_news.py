"""What a call's media tells, in the words of the conversation and of the log."""

from media_bridge import events as media
from media_bridge.transport import Offer
from stasis_app import conversation as talk


def news(event: media.MediaEvent) -> talk.Event | None:
    """None: it changes nothing."""
    match event:
        case media.SpeechStarted():
            return talk.SpeechStarted()
        case media.SpeechPaused(utterance=utterance):
            return talk.SpeechPaused(utterance)
        case media.SpeechResumed():
            return talk.SpeechResumed()
        case media.SpeechEnded(utterance=utterance):
            return talk.SpeechEnded(utterance)
        case media.PlayoutStarted(turn=turn):
            return talk.PlayoutStarted(turn)
        case media.PlayoutFinished(turn=turn):
            return talk.PlayoutFinished(turn)
        case media.CallerHeard():
            return talk.MediaReady()
        case _:
            return _trouble(event)


def _trouble(event: media.MediaEvent) -> talk.Event | None:
    match event:
        case media.MediaTimeout(kind="first_packet"):
            return talk.CallerNotHeard()
        case media.MediaTimeout():
            return talk.MediaLost("media_timeout")
        case media.MediaClosed():
            return talk.MediaLost("media_closed")
        case media.MediaFailed():
            return talk.MediaLost("defect")
        case _:
            return None


def complaint(event: media.MediaEvent, offer: Offer | None) -> str | None:
    """For the admin; `offer` is where Asterisk was told to send the sound."""
    match event:
        case media.MediaTimeout(kind="first_packet"):
            between = _or_between_asterisk_and_us(offer)
            return (
                "no sound from the caller: is the phone's microphone muted, or is UDP closed between it and "
                f"Asterisk{between}?"
            )
        case media.MediaTimeout():
            return "the caller's sound stopped"
        case media.MediaClosed(reason=reason):
            return reason
        case _:
            return None


def _or_between_asterisk_and_us(offer: Offer | None) -> str:
    if offer is None or offer.medium.transport != "rtp":
        return ""
    return f", or between Asterisk and {offer.host}:{offer.port} (media.advertise_host)"
