#!/usr/bin/env bash
# deploy/systemd/ on a machine of its own: a Debian 12 in a container with systemd as its process 1, no network, this
# checkout in /opt/voicebot, an Asterisk, real models. What is tried there: tests/systemd/inside.py. Needs root, and
# `apt install debootstrap systemd-container`; the first time about 450 MB from Debian's and Python's registries.
#
#   tests/systemd/machine.sh [STEP ...]    all steps, or only these; MACHINE=FOLDER: where it is kept (2.5 GB)
set -euo pipefail
cd "$(dirname "$0")/../.."
scripts/setup.sh dev
cache=$(.venv/bin/python -c 'from voicebot.cache import default_cache_dir; print(default_cache_dir())')
folder=${MACHINE:-$cache/systemd}
root=$folder/root
left=()
leave_groups() {
    for group in "${left[@]}"; do
        echo $$ > "$group/cgroup.procs"
        find "$group/voicebot-machine" -depth -type d -exec rmdir {} + 2> /dev/null || true
    done
}
fail() { printf 'machine: %s\n' "$*" >&2; exit 2; }
[ "$(id -u)" = 0 ] || fail "a container with systemd needs root"
for tool in debootstrap systemd-nspawn; do
    command -v $tool > /dev/null || fail "no $tool here: apt install debootstrap systemd-container"
done

# --- the machine ---------------------------------------------------------------------------------------------------

if ! [ -e "$folder/made" ]; then
    echo "Making a Debian 12 in $root."
    rm -rf "$root"
    mkdir -p "$folder"
    debootstrap --variant=minbase --include=systemd,systemd-sysv,python3,python3-venv,make,libgomp1,git,curl,ca-certificates,procps \
        bookworm "$root" > "$folder/debootstrap.log" || fail "see $folder/debootstrap.log"
    touch "$folder/made"
fi
nspawn=(systemd-nspawn --quiet --directory="$root")
if [ "$(cat /proc/1/comm)" != systemd ]; then # nobody here to ask for a scope
    nspawn+=(--register=no --keep-unit)
    # what the machine's systemd does to its own control groups shall not be done to this one's
    for group in /sys/fs/cgroup/systemd /sys/fs/cgroup/unified; do
        if [ -d $group ]; then
            mkdir -p $group/voicebot-machine
            echo $$ > $group/voicebot-machine/cgroup.procs
            left+=("$group")
        fi
    done
    trap 'leave_groups' EXIT
fi

# --- the checkout, set up without the network: the machine has none -------------------------------------------------

echo "Putting this commit into /opt/voicebot."
.venv/bin/python -m pip download --quiet --no-deps --require-hashes --only-binary=:all: --python-version=3.11 \
    -r requirements/run.txt -d "$folder/wheels"
if ! [ -d "$root/opt/voicebot" ]; then git clone --quiet --no-hardlinks . "$root/opt/voicebot"; fi
git -C "$root/opt/voicebot" -c safe.directory="*" fetch --quiet --force "$PWD" HEAD
git -C "$root/opt/voicebot" -c safe.directory="*" reset --quiet --hard FETCH_HEAD
"${nspawn[@]}" --pipe --bind-ro="$folder/wheels:/wheels" --setenv=PIP_NO_INDEX=1 --setenv=PIP_FIND_LINKS=/wheels \
    /opt/voicebot/scripts/setup.sh run

# --- what `voicebot fetch` brings to a machine with a network -------------------------------------------------------

.venv/bin/voicebot fetch > "$folder/fetch.log"
.venv/bin/python -c 'from tests.support.rig import the_asterisk; the_asterisk()'
mkdir -p "$root/srv/voicebot/models"
for model in joe qwen2.5-1.5b smart-turn-v3.2 whisper-base; do
    [ -d "$root/srv/voicebot/models/$model" ] || cp -r "$cache/models/$model" "$root/srv/voicebot/models/"
done
[ -d "$root/srv/voicebot/asterisk" ] || cp -r "$cache/asterisk" "$root/srv/voicebot/"

# --- run it --------------------------------------------------------------------------------------------------------

for unit in asterisk inside; do
    install -m 644 "tests/systemd/$unit.service" "$root/etc/systemd/system/"
done
# units of an earlier run would be started before the new ones are installed
rm -rf "$root/srv/report" "$root"/etc/systemd/system/{voicebot*,multi-user.target.wants/voicebot*}
echo "$*" > "$root/srv/steps"
mkdir -p "$root/etc/systemd/system/multi-user.target.wants"
ln -sf ../inside.service "$root/etc/systemd/system/multi-user.target.wants/"
status=0
"${nspawn[@]}" --boot --private-network < /dev/null > "$folder/console" 2>&1 || status=$?
cat "$root/srv/report" 2> /dev/null || fail "it did not come as far as a report: see $folder/console"
exit $status
