#!/usr/bin/env bash
# Asks an advisory service about every pinned package. Needs the network (pypi.org, or api.osv.dev with
# `make audit ARGS="-s osv"`), so it is run by hand and not by `make test`: advisories come when they come, and what
# was green an hour ago may be red without a change here. What could not be asked about is an error, never a pass.
set -euo pipefail
cd "$(dirname "$0")/.."
tool=var/audit
if ! [ "$(cat $tool/done 2>/dev/null)" = "$(cksum < requirements/audit.txt)" ]; then
    rm -rf $tool
    .venv/bin/python -m venv $tool
    PIP_DISABLE_PIP_VERSION_CHECK=1 $tool/bin/python -m pip install --quiet --require-hashes -r requirements/audit.txt
    cksum < requirements/audit.txt > $tool/done
fi
status=0
for file in requirements/*.txt; do
    echo "audit: $file"
    $tool/bin/pip-audit --strict --disable-pip --require-hashes --progress-spinner off -r "$file" "$@" || status=1
done
[ $status -eq 0 ] || echo "audit: see above: a package with an advisory (raise it: scripts/lock.sh), or one that could not be asked about" >&2
exit $status
