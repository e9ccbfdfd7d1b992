"""The manifests of docs/kubernetes are what Kubernetes takes, and fit each other.

The schemas are those of Kubernetes, as the package kubernetes-validate has them: a field that is
not known is an error. No cluster is asked.
"""

from __future__ import annotations

import copy
import re
import socket
from collections.abc import Iterator
from typing import Any
from urllib.error import HTTPError
from urllib.request import urlopen

import dask
import kubernetes_validate
import pytest
import yaml
from conftest import ROOT
from distributed import LocalCluster
from distributed.cli import dask_scheduler, dask_worker
from distributed.security import Security
from nagle_scan.fleet import cluster

FOLDER = ROOT / "docs" / "kubernetes"
FILES = sorted(FOLDER.rglob("*.yaml"))
PAGE = (ROOT / "docs" / "fleet.md").read_text()
VERSIONS = ("1.30", kubernetes_validate.latest_version())

Document = dict[str, Any]
DOCUMENTS: list[Document] = [
    document for file in FILES for document in yaml.safe_load_all(file.read_text())
]


def name_of(document: Document) -> str:
    return f"{document['kind']}-{document['metadata']['name']}"


def pod_of(document: Document) -> Document | None:
    """The pod that it is or makes, with its labels."""
    if document["kind"] == "Pod":
        return document
    spec = document.get("spec", {})
    if document["kind"] == "CronJob":
        spec = spec["jobTemplate"]["spec"]
    template: Document | None = spec.get("template")
    return template


PODS = {name_of(document): pod for document in DOCUMENTS if (pod := pod_of(document))}
COMPONENT = "app.kubernetes.io/component"
PARTS = {name: pod for name, pod in PODS.items() if COMPONENT in pod["metadata"].get("labels", {})}
"""Of the cluster of Dask."""
each_pod = pytest.mark.parametrize("pod", PODS.values(), ids=PODS)
each_part = pytest.mark.parametrize("pod", PARTS.values(), ids=PARTS)


def container(component: str) -> Document:
    """That of a part of the cluster; workers differ only in where their captures are."""
    return containers(component)[0]


def containers(component: str) -> list[Document]:
    """Those of all that are this part of the cluster."""
    return [
        pod["spec"]["containers"][0]
        for pod in PARTS.values()
        if pod["metadata"]["labels"][COMPONENT] == component
    ]


def of_kind(kind: str) -> list[Document]:
    return [document for document in DOCUMENTS if document["kind"] == kind]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("document", DOCUMENTS, ids=name_of)
def test_it_is_what_kubernetes_takes(document: Document, version: str) -> None:
    kubernetes_validate.validate(document, version, strict=True)


@pytest.mark.parametrize("mistake", ["replica", "tolerations"])
def test_a_field_that_kubernetes_has_not_is_noticed(mistake: str) -> None:
    wrong = copy.deepcopy(of_kind("Deployment")[0])
    wrong["spec"][mistake] = 4
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(wrong, VERSIONS[0], strict=True)


@each_pod
def test_a_pod_may_do_nothing_that_it_does_not_need(pod: Document) -> None:
    spec = pod["spec"]
    assert spec["automountServiceAccountToken"] is False
    assert spec["securityContext"]["runAsNonRoot"] is True
    assert spec["securityContext"]["runAsUser"] > 0
    assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    for one in spec["containers"]:
        assert one["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
        assert "memory" in one["resources"]["limits"]
        assert {"cpu", "memory"} <= set(one["resources"]["requests"])


@each_part
def test_captures_and_certificates_cannot_be_written(pod: Document) -> None:
    mounts = {mount["name"]: mount for mount in pod["spec"]["containers"][0]["volumeMounts"]}
    for volume in {"captures", "tls"} & set(mounts):
        assert mounts[volume]["readOnly"] is True
    assert "tls" in mounts


def test_nothing_is_named_that_is_not_there() -> None:
    """The Secrets are made on the command line, so that no key is in a file."""
    there = {
        kind: {document["metadata"]["name"] for document in of_kind(kind)}
        for kind in ("ConfigMap", "PersistentVolumeClaim", "Service")
    }
    secrets = set(re.findall(r"kubectl create secret generic (\S+)", PAGE))
    for pod in PODS.values():
        spec = pod["spec"]
        volumes = {volume["name"]: volume for volume in spec["volumes"]}
        for volume in volumes.values():
            match volume:
                case {"configMap": {"name": name}}:
                    assert name in there["ConfigMap"]
                case {"secret": {"secretName": name}}:
                    assert name in secrets
                case {"persistentVolumeClaim": {"claimName": name}}:
                    assert name in there["PersistentVolumeClaim"]
        for one in spec["containers"]:
            assert {mount["name"] for mount in one["volumeMounts"]} == set(volumes)
            for source in one.get("envFrom", []):
                assert source["secretRef"]["name"] in secrets
            words = " ".join([*one["command"], *one["args"]])
            for service in re.findall(r"([\w-]+):8786", words):
                assert service in there["Service"]


def test_all_are_in_the_namespace() -> None:
    namespace = of_kind("Namespace")[0]["metadata"]["name"]
    others = [document for document in DOCUMENTS if document["kind"] != "Namespace"]
    assert {document["metadata"]["namespace"] for document in others} == {namespace}


def test_all_run_the_same_image() -> None:
    """Workers of another version are refused."""
    assert len({one["image"] for pod in PODS.values() for one in pod["spec"]["containers"]}) == 1


def test_services_and_controllers_find_their_pods() -> None:
    labels = [pod["metadata"]["labels"] for pod in PARTS.values()]
    for service in of_kind("Service"):
        selected = service["spec"]["selector"]
        assert any(selected.items() <= some.items() for some in labels)
        names = {port["name"] for port in container("scheduler")["ports"]}
        assert {port["targetPort"] for port in service["spec"]["ports"]} <= names
    for document in DOCUMENTS:
        if "matchLabels" in document.get("spec", {}).get("selector", {}):
            pod = pod_of(document)
            assert pod
            assert document["spec"]["selector"]["matchLabels"] == pod["metadata"]["labels"]


def let_in(labels: dict[str, str]) -> set[int]:
    """The ports at which the policies let others reach a pod with these labels."""
    return {
        port["port"]
        for policy in of_kind("NetworkPolicy")
        if policy["spec"]["podSelector"].get("matchLabels", {}).items() <= labels.items()
        for rule in policy["spec"].get("ingress", [])
        for port in rule["ports"]
    }


@each_part
def test_the_network_lets_through_what_is_needed_and_no_more(pod: Document) -> None:
    """The kubelet's probes are always let through."""
    ports = pod["spec"]["containers"][0].get("ports", [])
    needed = {port["containerPort"] for port in ports if port["name"] != "health"}
    labels = pod["metadata"]["labels"]
    assert let_in(labels) == needed
    leaving = next(
        policy
        for policy in of_kind("NetworkPolicy")
        if policy["spec"].get("egress")
        and policy["spec"]["podSelector"]["matchLabels"].items() <= labels.items()
    )
    within = leaving["spec"]["egress"][0]["ports"]
    assert needed <= {port["port"] for port in within}


def rules() -> list[Document]:
    """What may leave a pod."""
    return [
        rule for policy in of_kind("NetworkPolicy") for rule in policy["spec"].get("egress", [])
    ]


def test_a_worker_taken_over_can_send_no_capture_out() -> None:
    peers = [rule["to"] for rule in rules()]
    assert peers
    assert not [peer for every in peers for peer in every if "ipBlock" in peer]


def test_the_rule_for_an_object_store_can_be_used_as_it_stands() -> None:
    text = (FOLDER / "network-policy.yaml").read_text()
    uncommented = re.sub(r"^    # (?=- to:|  )", "    ", text, flags=re.MULTILINE)
    policy = list(yaml.safe_load_all(uncommented))[-1]
    for version in VERSIONS:
        kubernetes_validate.validate(policy, version, strict=True)
    (peer,) = policy["spec"]["egress"][-1]["to"]
    assert peer["ipBlock"]["cidr"] != "0.0.0.0/0"


def test_no_part_of_the_cluster_lets_the_reader_of_results_in() -> None:
    (reader,) = (pod for name, pod in PODS.items() if name not in PARTS)
    assert reader["metadata"].get("labels", {}) == {}


def test_who_is_not_named_reaches_nothing() -> None:
    nothing = of_kind("NetworkPolicy")[0]["spec"]
    assert nothing == {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}


def test_the_network_policy_has_the_ports_that_are_listened_on() -> None:
    for component, option in (("scheduler", "--port"), ("worker", "--worker-port")):
        one = container(component)
        listened = {port["name"]: str(port["containerPort"]) for port in one["ports"]}
        args = one["args"]
        assert args[args.index(option) + 1] == listened[component]
        assert args[args.index("--dashboard-address") + 1] == f":{listened['health']}"


@pytest.mark.parametrize(
    ("component", "command"), [("scheduler", dask_scheduler.main), ("worker", dask_worker.main)]
)
def test_dask_takes_the_options(component: str, command: Any) -> None:
    for one in containers(component):
        assert one["command"] == ["dask", component]
        command.make_context(component, list(one["args"]))


@pytest.mark.parametrize("one", containers("worker"))
def test_no_worker_pauses_for_ever_at_a_limit(one: Document) -> None:
    args = one["args"]
    assert args[args.index("--memory-limit") + 1] == "0"


def test_probes_are_answered_and_nobody_learns_more_without_tls() -> None:
    routes = {path: value for path, value in leaves(config()) if path.endswith("http.routes")}
    local: Any = LocalCluster
    on_loopback = {"dashboard_address": "127.0.0.1:0", "worker_dashboard_address": "127.0.0.1:0"}
    with (
        dask.config.set(routes),
        local(n_workers=1, processes=False, **on_loopback) as made,
    ):
        for part in (made.scheduler, *made.workers.values()):
            at = f"http://127.0.0.1:{part.http_server.port}"
            with urlopen(f"{at}/health") as answer:
                assert answer.status == 200
            with pytest.raises(HTTPError, match="404"):
                urlopen(f"{at}/metrics")


def test_captures_are_told_by_the_name_of_the_node(monkeypatch: pytest.MonkeyPatch) -> None:
    """That of a pod is another after each start: what grew would count as new."""
    named = {
        variable["name"]: variable["valueFrom"]["fieldRef"]["fieldPath"]
        for pod in PARTS.values()
        for variable in pod["spec"]["containers"][0]["env"]
        if "valueFrom" in variable
    }
    assert named == {cluster.HOST: "spec.nodeName"}
    monkeypatch.setenv(cluster.HOST, "node-7")
    assert cluster.own_name() == "node-7"
    monkeypatch.delenv(cluster.HOST)
    assert cluster.own_name() == socket.gethostname()


def config() -> Document:
    text = of_kind("ConfigMap")[0]["data"]["dask.yaml"]
    parsed: Document = yaml.safe_load(text)
    return parsed


def leaves(node: Document, path: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in node.items():
        if isinstance(value, dict):
            yield from leaves(value, f"{path}{key}.")
        else:
            yield f"{path}{key}", value


def test_each_part_must_show_its_certificate() -> None:
    make: Any = Security
    with dask.config.set(dict(leaves(config()))):
        security = make()
    assert security.require_encryption
    folder = next(
        mount["mountPath"]
        for mount in container("worker")["volumeMounts"]
        if mount["name"] == "tls"
    )
    for role in ("scheduler", "worker", "client"):
        assert security.tls_ca_file == f"{folder}/ca.pem"
        assert getattr(security, f"tls_{role}_cert") == f"{folder}/tls.pem"
        assert getattr(security, f"tls_{role}_key") == f"{folder}/tls.key"


def test_dask_knows_every_setting() -> None:
    """A setting that is written wrong would leave the cluster open, without a word."""
    known = {path for defaults in dask.config.defaults for path, _ in leaves(dict(defaults))}
    assert {path for path, _ in leaves(config())} <= known


def test_hosts_without_kubernetes_have_the_same_settings() -> None:
    """But for what probes need: there HTTP is on 127.0.0.1 only."""
    text = (ROOT / "docs" / "dask.yaml").read_text()
    moved = {
        path: value.replace("/etc/nagle-scan/", "/etc/nagle-scan/tls/") if "tls" in path else value
        for path, value in leaves(yaml.safe_load(text))
    }
    same = {path: value for path, value in leaves(config()) if not path.endswith("http.routes")}
    assert moved == same


def test_the_settings_are_where_dask_looks_for_them() -> None:
    for pod in PARTS.values():
        one = pod["spec"]["containers"][0]
        named = {variable["name"]: variable.get("value") for variable in one["env"]}
        mount = next(mount for mount in one["volumeMounts"] if mount["name"] == "config")
        assert named["DASK_CONFIG"] == mount["mountPath"]
        assert mount["subPath"] in of_kind("ConfigMap")[0]["data"]
