#!/usr/bin/env bash
# Asks an advisory service about every pinned package. Exit status: 0 nothing is known; 1 something is, or a package could
# not be asked about; 3 no service answers here, so nothing was asked: that is no pass, and it is said.
# Which services there are, pip-audit knows. One is believed once it tells of a weakness that everybody knows.
set -euo pipefail
cd "$(dirname "$0")/.."
tool=var/audit
if ! [ "$(cat $tool/done 2>/dev/null)" = "$(cksum < requirements/audit.txt)" ]; then
    rm -rf $tool
    .venv/bin/python -m venv $tool
    PIP_DISABLE_PIP_VERSION_CHECK=1 $tool/bin/python -m pip install --quiet --require-hashes -r requirements/audit.txt
    cksum < requirements/audit.txt > $tool/done
fi
ask() { $tool/bin/pip-audit --disable-pip --progress-spinner off --timeout 10 "$@"; }

echo 'jinja2==2.4.1' > $tool/known.txt
service=
for one in pypi osv; do
    case "$(ask --no-deps -s $one -r $tool/known.txt 2>/dev/null || true)" in
        *CVE-* | *GHSA-* | *PYSEC-*) service=$one && break ;;
    esac
done
if [ -z "$service" ]; then
    cat >&2 <<'TEXT'
audit: NOTHING WAS ASKED: no advisory service is reachable from this machine (neither PyPI's own nor OSV).
audit: whether a pinned package has a known weakness is not known here. Run `make audit` where one is reachable.
TEXT
    exit 3
fi
status=0
for file in requirements/*.txt; do
    # a list of what is not installed
    [ "$file" = requirements/vllm-left-out.txt ] && continue
    echo "audit: $file, asking $service"
    ask --strict --require-hashes -s $service -r "$file" "$@" || status=1
done
[ $status -eq 0 ] || echo 'audit: see above: a package with an advisory (raise it: scripts/lock.sh), or one that could not be asked about' >&2
exit $status
