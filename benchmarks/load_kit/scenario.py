"""The SIPp scenario of callers who each play a sound of their own and may be hung up on. Pure.

SIPp fills no key into the name of a file to play, so the scenario has a branch for each caller's file; the injection
file says which caller takes which. While it plays, a caller waits for a BYE: that of Asterisk, or in its absence it
sends its own when its talk is over.
"""

from collections.abc import Sequence
from xml.sax.saxutils import escape

_DIALOG = """\
Via: SIP/2.0/UDP [local_ip]:[tap_port];branch=[branch]
Max-Forwards: 70
From: <sip:caller[field0]@[local_ip]:[tap_port]>;tag=[pid]T[call_number]
To: <sip:[service]@[remote_ip]:[remote_port]>{tag}
Call-ID: [call_id]
CSeq: {cseq} {method}
Contact: <sip:caller[field0]@[local_ip]:[tap_port]>
{rest}"""

_OFFER = """\
Allow: INVITE, ACK, BYE, CANCEL, OPTIONS
Content-Type: application/sdp
Content-Length: [len]

v=0
o=sipp [pid] 1 IN IP[local_ip_type] [local_ip]
s=-
c=IN IP[media_ip_type] [media_ip]
t=0 0
m=audio [rtpstream_audio_port] RTP/AVP 0
a=rtpmap:0 PCMU/8000
a=ptime:20
a=sendrecv
"""

_OK = """\
SIP/2.0 200 OK
[last_Via:]
[last_From:]
[last_To:]
[last_Call-ID:]
[last_CSeq:]
Content-Length: 0

"""


def scenario(stays_ms: Sequence[int]) -> str:
    """SIPp's XML. Caller k plays `sound_name(k)` and stays for `stays_ms[k]`.

    SIPp is to be given `-inf` a file as `injection` makes it and `-key tap_port` the port that answers come to.
    """
    branches = "\n".join(_branch(number, stay) for number, stay in enumerate(stays_ms))
    parts = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        '<scenario name="callers with a sound each">',
        _choice(len(stays_ms)),
        _send("INVITE [service]", _dialog("INVITE", 1, _OFFER)),
        '<recv response="100" optional="true"/>',
        '<recv response="180" optional="true"/>',
        '<recv response="183" optional="true"/>',
        '<recv response="200" rrs="true"/>',
        _send("ACK", _dialog("ACK", 1, "Content-Length: 0\n\n", "[peer_tag_param]"), retrans=False),
        *(f'<nop next="play{number}" test="is{number}"/>' for number in range(len(stays_ms))),
        branches,
        '<label id="bye"/>',
        _send("BYE", _dialog("BYE", 2, "Content-Length: 0\n\n", "[peer_tag_param]")),
        # both may hang up at once
        '<recv request="BYE" optional="true" next="crossed"/>',
        '<recv response="200" next="end"/>',
        '<label id="crossed"/>',
        _answer(),
        '<recv response="200" next="end"/>',
        '<label id="hung_up_on"/>',
        _answer(),
        '<label id="end"/>',
        "</scenario>",
    ]
    return "\n".join(parts) + "\n"


def injection(callers: Sequence[int]) -> str:
    """The file for `-inf`: which caller each call is; from its end SIPp begins again."""
    return "\n".join(["SEQUENTIAL", *map(str, callers)]) + "\n"


def sound_name(number: int) -> str:
    return f"caller{number}.ulaw"


def _choice(callers: int) -> str:
    """Sets the variable `isK` of the caller it is."""
    actions = ['<assignstr assign_to="who" value="[field0]"/>']
    for number in range(callers):
        actions.append(f'<strcmp assign_to="differs{number}" variable="who" value="{number}"/>')
        actions.append(f'<test assign_to="is{number}" variable="differs{number}" compare="equal" value="0"/>')
    return "<nop><action>" + "".join(actions) + "</action></nop>"


def _branch(number: int, stay_ms: int) -> str:
    play = f'<exec rtp_stream="{escape(sound_name(number))},1,0"/>'
    return (
        f'<label id="play{number}"/>\n<nop><action>{play}</action></nop>\n'
        f'<recv request="BYE" timeout="{stay_ms}" ontimeout="bye" next="hung_up_on"/>'
    )


def _dialog(method: str, cseq: int, rest: str, tag: str = "") -> str:
    return _DIALOG.format(method=method, cseq=cseq, rest=rest, tag=tag)


def _send(start: str, message: str, *, retrans: bool = True) -> str:
    method, _, service = start.partition(" ")
    target = f"sip:{service}@[remote_ip]:[remote_port]" if service else "[next_url]"
    timer = ' retrans="500"' if retrans else ""
    return f"<send{timer}>\n<![CDATA[\n{method} {target} SIP/2.0\n{message}]]>\n</send>"


def _answer() -> str:
    return f"<send>\n<![CDATA[\n{_OK}]]>\n</send>"
