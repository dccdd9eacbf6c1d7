#!/bin/sh
# Pins every dependency with its hashes for Python 3.11 to 3.13 (needs uv on the PATH; run by hand, then commit).
set -eu
cd "$(dirname "$0")/.."
lock() { # OUTPUT EXTRA...
    out=$1; shift
    extras=""; for extra in "$@"; do extras="$extras --extra $extra"; done
    # shellcheck disable=SC2086  # one word per extra
    uv pip compile pyproject.toml --universal --python-version 3.11 --generate-hashes --quiet \
        --no-header --no-annotate --no-emit-index-url --no-emit-find-links $extras \
        --constraint requirements/dev.txt --output-file "$out"
}
touch requirements/dev.txt
lock requirements/dev.txt build stt tts-piper llm-cpu dev
lock requirements/run.txt build stt tts-piper llm-cpu
lock requirements/call.txt build
lock requirements/ray.txt build stt tts-piper cluster
lock_peer() { # a peer of the benchmarks, in an environment of its own
    uv pip compile "requirements/peers/$1.in" --universal --python-version 3.11 --generate-hashes --quiet \
        --no-header --no-annotate --no-emit-index-url --no-emit-find-links \
        --override requirements/peers/left-out.txt --output-file "requirements/peers/$1.txt"
}
lock_peer asterisk-ai-voice-agent
lock_peer pipecat
# vLLM of `make test-vllm`: one Python, one platform; UV_FIND_LINKS names where PyTorch's CPU builds lie
uv pip compile requirements/vllm.in --python-version 3.11 --python-platform x86_64-manylinux_2_28 --generate-hashes \
    --quiet --no-header --no-annotate --no-emit-index-url --no-emit-find-links \
    --override requirements/vllm-left-out.txt --output-file requirements/vllm.txt
# the tool of `make audit`, in an environment of its own
echo 'pip-audit>=2.9' | uv pip compile - --universal --python-version 3.11 --generate-hashes --quiet \
    --no-header --no-annotate --no-emit-index-url --no-emit-find-links --output-file requirements/audit.txt
