"""Image and manifests, as far as they can be tried without a registry, Kubernetes and Slurm.

What a manifest says is held against KubeRay's types, the repository and this package's command line; the Slurm script is run
whole, with a `srun` that starts its steps here.
"""

import os
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml
from jsonschema import Draft202012Validator

from kernelwright.interfaces.cli.main import command

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
CONTAINER = {
    "type": "object",
    "required": ["name", "image", "resources"],
    "properties": {
        "name": {"pattern": "^[a-z0-9-]+$"},
        "image": {"type": "string"},
        "env": {"items": {"required": ["name", "value"], "properties": {"value": {"type": "string"}}}},
        "ports": {"items": {"required": ["containerPort"], "additionalProperties": {"type": ["integer", "string"]}}},
        "resources": {
            "required": ["limits", "requests"],
            "additionalProperties": {"additionalProperties": {"type": "string"}},
        },
        "volumeMounts": {"items": {"required": ["name", "mountPath"]}},
    },
    "additionalProperties": False,
}
GROUP = {
    "rayStartParams": {"additionalProperties": {"type": "string"}},
    "template": {
        "required": ["spec"],
        "properties": {
            "spec": {
                "required": ["containers"],
                "properties": {
                    "containers": {"minItems": 1, "items": CONTAINER},
                    "volumes": {},
                    "terminationGracePeriodSeconds": {},
                },
                "additionalProperties": False,
            }
        },
    },
}
COUNT = {"type": "integer", "minimum": 0}
RAY_JOB = {
    "required": ["apiVersion", "kind", "metadata", "spec"],
    "properties": {
        "apiVersion": {"const": "ray.io/v1"},
        "metadata": {"required": ["name"]},
        "kind": {"const": "RayJob"},
        "spec": {
            "required": ["entrypoint", "rayClusterSpec"],
            "properties": {
                "entrypoint": {"type": "string"},
                "shutdownAfterJobFinishes": {"type": "boolean"},
                "ttlSecondsAfterFinished": COUNT,
                "rayClusterSpec": {
                    "required": ["headGroupSpec", "rayVersion"],
                    "properties": {
                        "rayVersion": {"type": "string"},
                        "headGroupSpec": {"required": [*GROUP], "properties": GROUP, "additionalProperties": False},
                        "workerGroupSpecs": {
                            "items": {
                                "required": ["groupName", *GROUP],
                                "properties": {
                                    "groupName": {"type": "string"},
                                    **dict.fromkeys(("replicas", "minReplicas", "maxReplicas"), COUNT),
                                    **GROUP,
                                },
                                "additionalProperties": False,
                            }
                        },
                    },
                    "additionalProperties": False,
                },
            },
            "additionalProperties": False,
        },
    },
    "additionalProperties": False,
}
"""The fields of KubeRay's RayJob that are used here, from its types (ray-operator/apis/ray/v1) and samples, and no others."""


@pytest.fixture(scope="module")
def image():
    """Instructions of the image, in order."""
    text = re.sub(r"^#.*\n", "", (DEPLOY / "Dockerfile").read_text(), flags=re.MULTILINE).replace("\\\n", " ")
    return [(line.split(None, 1)[0], line.split(None, 1)[1]) for line in text.splitlines() if line]


@pytest.fixture(scope="module")
def job():
    return yaml.safe_load((DEPLOY / "kuberay.yaml").read_text())


def parses(words):
    """Whether this package's command line takes them."""
    assert words[0] == "kernelwright"
    with command(words[1]).make_context(words[1], list(words[2:])) as context:
        return context.params


def arguments(image, instruction):
    return [rest for name, rest in image if name == instruction]


def test_the_image_copies_what_there_is_and_installs_what_is_offered(image):
    copied = [word for rest in arguments(image, "COPY") for word in rest.split()[:-1]]
    assert all((ROOT / name).exists() for name in copied), copied
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert {project["readme"], "pyproject.toml", "src", "docs", "constraints.txt"} <= {*copied}
    (install,) = (rest for rest in arguments(image, "RUN") if rest.startswith("pip install"))
    extras = re.search(r'"\.\[(.*?)\]"', install)[1].split(",")
    assert {*extras} <= project["optional-dependencies"].keys()
    assert "ray" in extras
    major, minor = map(int, re.search(r"python:(\d+)\.(\d+)", arguments(image, "ARG")[0]).groups())
    assert f">={major}.{minor}" == project["requires-python"]


def test_the_image_s_command_is_one_that_starts(image):
    words = [*yaml.safe_load(arguments(image, "ENTRYPOINT")[0]), *yaml.safe_load(arguments(image, "CMD")[0])]
    parses(words)
    script = Path(sys.executable).with_name(words[0])
    done = subprocess.run([script, words[1], "--help"], capture_output=True, text=True, check=False)
    assert (done.returncode, "Usage: kernelwright doctor" in done.stdout) == (0, True)


def test_the_image_does_not_run_as_root_and_has_the_settings_of_a_cluster_that_starts_here(image):
    from kernelwright.execution.cluster import QUIET  # noqa: PLC0415

    assert arguments(image, "USER") == ["kernelwright"]
    assert dict(pair.split("=") for pair in arguments(image, "ENV")[0].split()) == QUIET


def test_the_manifest_has_fields_that_kuberay_knows(job):
    faults = [fault.message for fault in Draft202012Validator(RAY_JOB).iter_errors(job)]
    assert faults == []
    broken = {**job, "spec": {**job["spec"], "entrypont": "x"}}
    assert [*Draft202012Validator(RAY_JOB).iter_errors(broken)], "the schema lets nothing in that it does not know"


def test_the_manifest_s_command_is_taken_and_its_task_is_in_the_image(job, image):
    words = shlex.split(job["spec"]["entrypoint"])
    found = parses(words)
    assert found["execution"] == "ray"
    task = found["task"].relative_to(arguments(image, "WORKDIR")[0])
    assert (ROOT / task).is_file()
    assert task.parts[0] in " ".join(arguments(image, "COPY"))
    head = job["spec"]["rayClusterSpec"]["headGroupSpec"]["template"]["spec"]
    assert str(found["run_dir"]) in [mount["mountPath"] for mount in head["containers"][0]["volumeMounts"]]
    assert {volume["name"] for volume in head["volumes"]} >= {
        mount["name"] for mount in head["containers"][0]["volumeMounts"]
    }


def test_the_manifest_s_ray_is_the_one_that_is_tested(job):
    pinned = re.search(r"^ray==(.*)$", (ROOT / "constraints.txt").read_text(), re.MULTILINE)[1]
    assert job["spec"]["rayClusterSpec"]["rayVersion"] == pinned


@pytest.mark.parametrize("name", ["kuberay.yaml", "slurm.sh"])
def test_the_way_to_see_what_a_cluster_is_at_is_told_and_taken(name):
    text = (DEPLOY / name).read_text()
    (told,) = {*re.findall(r"kernelwright farm status --execution ray://\S+?(?=[`\s])", text)}
    assert parses(shlex.split(told))["action"] == "status"


STEP = """#!/bin/bash
while [[ $1 == --* ]]; do shift; done
[[ "$*" == *"--head"* ]] || exit 0
exec "$@" --num-cpus 2 --node-ip-address 127.0.0.1
"""


@pytest.mark.matrix
def test_the_slurm_script_starts_a_cluster_and_a_command_on_it(ray_here, tmp_path):
    programs = {"srun": STEP, "scontrol": "#!/bin/bash\necho 127.0.0.1\necho 127.0.0.9\n"}
    for name, text in programs.items():
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    there = {
        "HOME": str(tmp_path),
        "SLURM_JOB_NODELIST": "two",
        "SLURM_JOB_NUM_NODES": "2",
        "SLURM_JOB_ID": str(os.getpid()),
    }
    path = f"{tmp_path}:{Path(sys.executable).parent}:{os.environ['PATH']}"
    environment = {name: value for name, value in os.environ.items() if not name.startswith("RAY_AUTH")}
    words = ["check", "examples/mse_loss.py", "examples/mse_loss.cpp", "--quick"]
    done = subprocess.run(
        [DEPLOY / "slurm.sh", *words], cwd=ROOT, env=environment | there | {"PATH": path}, capture_output=True, text=True,
        check=False, timeout=240,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 processors" in done.stdout, "the farm's state, before the command"
    assert re.search(r"^measured", done.stdout, re.MULTILINE)
    left = [line for line in Path("/proc").glob("[0-9]*/cmdline") if f"{tmp_path}".encode() in _read(line)]
    assert left == []


def _read(file):
    try:
        return file.read_bytes()
    except OSError:
        return b""
