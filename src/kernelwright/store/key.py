"""The evaluation's identity: when two evaluations are the same question, so that a verdict may be used again.

A device's measured ceilings are left out: they are answers, and differ a little each time they are measured.
"""

from kernelwright.records.base import identity
from kernelwright.records.candidate import Candidate
from kernelwright.records.policy import Effort, Policy
from kernelwright.records.run import Environment
from kernelwright.records.task import Task


def evaluation_key(task: Task, candidate: Candidate, environment: Environment, policy: Policy, effort: Effort) -> str:
    """Hash of the task, the candidate, the device, all versions, the policy and the effort."""
    device = environment.device
    return identity(
        "evaluation",
        {
            "task": task.id,
            "candidate": candidate.id,
            "device": [device.kind, device.name, device.cores],
            "versions": dict(environment.versions),
            "policy": policy.model_dump(mode="json", exclude={"counters"}),
            "effort": effort,
        },
    )
