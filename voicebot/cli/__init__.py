"""The `voicebot` command. Each subcommand imports what it needs when it runs, so that --help is instant."""

import resource
import sys
from collections.abc import Sequence

from voicebot.cli.arguments import parser
from voicebot.cli.failures import exit_code, expected, leaves
from voicebot.terminal import complain

INTERRUPTED = 130  # 128 + SIGINT, as shells have it


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; its exit status. Bad input is one line on stderr, never a traceback."""
    chosen = parser().parse_args(arguments)
    _without_core_dumps()
    try:
        status = chosen.run(chosen)
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:  # `voicebot ... | head`
        sys.stderr.close()
        return 0
    except expected() as error:
        return _told([error])
    except BaseExceptionGroup as group:
        errors = leaves(group)
        if not all(isinstance(error, expected()) for error in errors):
            raise
        return _told(errors)
    return int(status)


def _without_core_dumps() -> None:
    """For all that it starts, too: a dump would hold what was said, and keys. The hard limit stays, to look for a fault
    with `prlimit --core=unlimited --pid PID`.
    """
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))


def _told(errors: Sequence[BaseException]) -> int:
    for error in dict.fromkeys(str(error) for error in errors):
        complain(f"voicebot: {error}")
    return exit_code(errors[0])
