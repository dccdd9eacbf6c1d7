#!/usr/bin/env bash
# Makes .venv with all that is pinned in requirements/, and this project in it. A second run finds nothing to do.
#
#   scripts/setup.sh [run|dev|call]   run (default): all that `make run` needs; dev: also what tests and checks need;
#                                     call: only the call process, no models
#   PYTHON=/usr/bin/python3.12        which Python (3.11 to 3.13); found by itself if not given
set -euo pipefail
cd "$(dirname "$0")/.."
kind=${1:-run}
venv=.venv
requirements=requirements/$kind.txt
say() { printf '%s\n' "$*"; }
fail() { printf 'setup: %s\n' "$*" >&2; exit 2; }
[ -f "$requirements" ] || fail "there is no $requirements: the argument is run, dev or call"

# what one complete set-up depends on; `dev` has everything `run` has, and `run` everything `call` has
stamp_of() { { pwd -P; cat "requirements/$1.txt" pyproject.toml scripts/setup.sh; } | cksum; }
is_done() { [ -x $venv/bin/python ] && [ "$(cat "$venv/setup-$1" 2>/dev/null)" = "$(stamp_of "$1")" ]; }
wanted_python() { # of a venv made with another one nothing can be kept
    [ -z "${PYTHON:-}" ] || [ "$("$PYTHON" -c "$version" 2>/dev/null)" = "$($venv/bin/python -c "$version" 2>/dev/null)" ]
}
version='import sys; print("%d.%d" % sys.version_info[:2])'
case $kind in
    call) enough="call run dev" size="40 MB" ;;
    run) enough="run dev" size="200 MB" ;;
    *) enough=$kind size="220 MB" ;;
esac
for one in $enough; do
    if is_done "$one" && wanted_python; then exit 0; fi
done

# --- a Python that will do -----------------------------------------------------------------------------------------

supported='import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))'
found=""
without_venv=""
seen=""
if [ -n "${PYTHON:-}" ]; then set -- "$PYTHON"; else set -- python3.11 python3.12 python3.13 python3; fi
for candidate in "$@"; do
    is=$("$candidate" -c "$version" 2>/dev/null) || continue
    seen="$seen $candidate ($is)"
    "$candidate" -c "$supported" || continue
    if "$candidate" -c 'import venv, ensurepip' 2>/dev/null; then found=$candidate; break; fi
    without_venv=${without_venv:-$is}
done
if [ -z "$found" ]; then
    if [ -n "$without_venv" ]; then
        fail "Python $without_venv is here but cannot make a virtual environment. On Debian or Ubuntu:
       sudo apt install python$without_venv-venv"
    fi
    [ -z "${PYTHON:-}" ] || fail "PYTHON=$PYTHON is no Python 3.11, 3.12 or 3.13${seen:+ but:$seen}. Unset it, or name another"
    fail "no Python 3.11, 3.12 or 3.13 found${seen:+ (there is:$seen)}. Install one, on Debian 12 or Ubuntu 24.04 with
       sudo apt install python3 python3-venv
       or name one: PYTHON=/path/to/python3.12 make run"
fi

# --- the environment -----------------------------------------------------------------------------------------------

# where the path is long or has spaces the first line of pip is #!/bin/sh, and the second one names the Python
if [ -x $venv/bin/python ] && { ! $venv/bin/python -c "$supported" 2>/dev/null || ! wanted_python \
    || ! head -n 2 $venv/bin/pip 2>/dev/null | grep -qF "$(pwd -P)/$venv/"; }; then
    say "The old $venv is of another Python or another folder: making it anew."
    rm -rf $venv
fi
if ! [ -x $venv/bin/python ]; then
    say "Making $venv with $("$found" --version)."
    "$found" -m venv $venv
fi

# --- the packages --------------------------------------------------------------------------------------------------

log=$venv/setup.log
: > $log
pip() { # quiet, but for a line on each download
    PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_INPUT=1 PIP_PROGRESS_BAR=off $venv/bin/python -m pip "$@" 2>&1 | tee -a $log \
        | awk '/^ *Downloading .*\(/ { file = $2; sub(".*/", "", file); size = $0; sub(".*\\(", "(", size); print "  " file " " size; fflush() }'
}
fail_pip() {
    tail -n 15 $log >&2
    fail "$1 The lines above are the end of $log. Is the network up? Behind a proxy or with a mirror, set HTTPS_PROXY or
       PIP_INDEX_URL and run it again: what is here already is kept."
}
say "Installing the packages of $requirements (about $size to download, less what pip has cached)."
SECONDS=0
pip install --require-hashes -r "$requirements" || fail_pip "The packages could not be installed."
pip install --no-deps --no-build-isolation --quiet -e . || fail_pip "voicebot itself could not be installed."
stamp_of "$kind" > "$venv/setup-$kind"
say "Set up in $SECONDS s, $(du -sh $venv | cut -f 1)."
