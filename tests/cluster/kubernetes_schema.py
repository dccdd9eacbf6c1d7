"""Kubernetes' own schemas, as a package of the package index carries them. `scripts/ray.sh` fetches them, once; tests
only read them.

    python -m tests.cluster.kubernetes_schema

Only one file is taken out of the package, checked by its hash; none of the package's code runs. The schema of a
RayService is written down here: its own is in no package of an index. It names every key of version 1.7.0 that deploy/
uses or may use, and the pods in it are checked by Kubernetes' own schema. The whole of deploy/ was checked against the
original once (docs/decisions/0012-many-machines.md).
"""

import hashlib
import json
import sys
import tempfile
from pathlib import Path
from typing import Any, Final

from gpu_workers.errors import ModelError
from gpu_workers.models.catalogue import IndexSource, ModelFile, WheelPart
from gpu_workers.models.index import download
from gpu_workers.models.progress import Progress
from voicebot.cache import default_cache_dir

_MEMBER: Final = "kubernetes_validate/kubernetes-json-schema/v1.34.0-local-strict/_definitions.json"
_SHA256: Final = "81c8c580f3ddb1580b342d91b9771089a38fa33ef86ee923b9b604716b2ba552"
_SOURCE: Final = IndexSource(
    (WheelPart("kubernetes-validate==1.37.0", _MEMBER, "definitions.json"),), download_size=22_560_767
)
_FILE: Final = ModelFile("definitions.json", 1_528_732, _SHA256)
_NAMES: Final = {
    "Namespace": "io.k8s.api.core.v1.Namespace",
    "ConfigMap": "io.k8s.api.core.v1.ConfigMap",
    "Service": "io.k8s.api.core.v1.Service",
    "StatefulSet": "io.k8s.api.apps.v1.StatefulSet",
    "PodDisruptionBudget": "io.k8s.api.policy.v1.PodDisruptionBudget",
    "NetworkPolicy": "io.k8s.api.networking.v1.NetworkPolicy",
}


def path() -> Path:
    """Where the definitions are kept; the name says which they are."""
    return default_cache_dir() / "schemas" / f"kubernetes-1.34-{_SHA256[:12]}.json"


def prepare() -> Path:
    """Fetches them if they are not here. Raises ModelError when they cannot be had or are others."""
    kept = path()
    if not kept.exists():
        kept.parent.mkdir(parents=True, exist_ok=True)
        print(f"Fetching the schemas of Kubernetes 1.34 ({_SOURCE.download_size / 1e6:.0f} MB).", flush=True)
        with tempfile.TemporaryDirectory(dir=kept.parent) as folder:
            new = Path(folder) / "new"
            new.mkdir()
            download(_SOURCE, (_FILE,), new, Path(folder), Progress("schemas", _SOURCE.download_size, print))
            _checked(new / "definitions.json")
            (new / "definitions.json").replace(kept)
    return kept


def definitions() -> dict[str, Any]:
    """The strict definitions of Kubernetes 1.34."""
    kept = path()
    assert kept.exists(), f"{kept} is not here: scripts/ray.sh fetches it"
    read: dict[str, Any] = json.loads(_checked(kept))["$defs"]
    return read


def _checked(file: Path) -> bytes:
    content = file.read_bytes()
    if hashlib.sha256(content).hexdigest() != _SHA256:
        raise ModelError(f"{file} is not the file that is pinned: remove it and run scripts/ray.sh again")
    return content


def schema_of(kind: str, kubernetes: dict[str, Any]) -> dict[str, Any]:
    """The JSON schema of one kind, with all it refers to."""
    known = {name: _local(definition) for name, definition in kubernetes.items()}
    if kind == "RayService":
        return {**_RAY_SERVICE, "$defs": known}
    return {"$ref": f"#/$defs/{_NAMES[kind]}", "$defs": known}


def _local(part: Any) -> Any:
    if isinstance(part, dict):
        return {
            key: f"#{value.partition('#')[2]}" if key == "$ref" and isinstance(value, str) else _local(value)
            for key, value in part.items()
        }
    return [_local(one) for one in part] if isinstance(part, list) else part


def _object(required: tuple[str, ...] = (), **properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "required": list(required),
        "properties": properties,
        "additionalProperties": False,
    }


_TEXT: Final = {"type": "string"}
_COUNT: Final = {"type": "integer", "minimum": 0}
_YES_NO: Final = {"type": "boolean"}
_TEXTS: Final = {"type": "object", "additionalProperties": _TEXT}
_POD: Final = {"$ref": "#/$defs/io.k8s.api.core.v1.PodTemplateSpec"}
_RAY_SERVICE: Final = _object(
    ("apiVersion", "kind", "metadata", "spec"),
    apiVersion={"const": "ray.io/v1"},
    kind={"const": "RayService"},
    metadata={"$ref": "#/$defs/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"},
    spec=_object(
        ("rayClusterConfig",),
        serveConfigV2=_TEXT,
        upgradeStrategy=_object(type={"enum": ["NewCluster", "None"]}),
        serviceUnhealthySecondThreshold=_COUNT,
        deploymentUnhealthySecondThreshold=_COUNT,
        suspend=_YES_NO,
        rayClusterConfig=_object(
            ("headGroupSpec",),
            rayVersion=_TEXT,
            enableInTreeAutoscaling=_YES_NO,
            authOptions=_object(mode={"enum": ["disabled", "token"]}, secretName=_TEXT),
            headGroupSpec=_object(("template",), rayStartParams=_TEXTS, serviceType=_TEXT, template=_POD),
            workerGroupSpecs={
                "type": "array",
                "items": _object(
                    ("groupName", "minReplicas", "maxReplicas", "template"),
                    groupName=_TEXT,
                    replicas=_COUNT,
                    minReplicas=_COUNT,
                    maxReplicas=_COUNT,
                    idleTimeoutSeconds=_COUNT,
                    rayStartParams=_TEXTS,
                    template=_POD,
                ),
            },
        ),
    ),
)


def main() -> int:
    try:
        prepare()
    except ModelError as error:
        print(f"schemas: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
