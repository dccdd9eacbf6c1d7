#!/usr/bin/env bash
# Makes var/ray for the tests of the cluster: what .venv has, and Ray beside it, pinned in requirements/ray.txt; and
# fetches the schemas that the tests of deploy/ hold the manifests against.
# A second run finds it done. It sees .venv's packages, so that nothing is installed twice.
set -euo pipefail
cd "$(dirname "$0")/.."
env=var/ray
scripts/setup.sh dev
.venv/bin/python -m tests.cluster.kubernetes_schema
stamp() { { pwd -P; .venv/bin/python -V; cat requirements/ray.txt requirements/dev.txt scripts/ray.sh; } | cksum; }
if [ "$(cat $env/done 2>/dev/null)" = "$(stamp)" ]; then exit 0; fi
echo "Installing Ray into $env (about 110 MB to download, less what pip has cached)."
SECONDS=0
rm -rf $env
.venv/bin/python -m venv $env
ours=$(.venv/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
theirs=$($env/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
echo "import site; site.addsitedir('$ours')" > "$theirs/voicebot-dev.pth"
PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_INPUT=1 $env/bin/python -m pip install --quiet --no-deps --require-hashes \
    -r requirements/ray.txt
stamp > $env/done
echo "Set up in $SECONDS s, $(du -sh $env | cut -f 1)."
