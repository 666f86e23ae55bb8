#!/bin/bash
# A cluster of whole GPU nodes under Slurm, and one command that uses it:
#   sbatch deploy/slurm.sh optimize examples/softmax.py
# `kernelwright` and `ray` must be on the path of every node, of the same versions. In another shell on the first node,
# `RAY_AUTH_MODE=token kernelwright farm status --execution ray://HEAD:PORT` says what it is at; the address is in the job's log.
#SBATCH --job-name=kernelwright
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --exclusive
#SBATCH --gpus-per-node=8
#SBATCH --signal=B:TERM@120
set -euo pipefail
export RAY_worker_niceness=0 RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO=0 RAY_USAGE_STATS_ENABLED=0
# Without a token anybody on the network could run code here. It lies in ~/.ray, which all nodes see.
export RAY_AUTH_MODE=token
ray get-auth-token --generate > /dev/null

hosts=$(scontrol show hostnames "$SLURM_JOB_NODELIST")
head=${hosts%%$'\n'*}
others=$((SLURM_JOB_NUM_NODES - 1))
address="$head:$((20000 + SLURM_JOB_ID % 20000))"

srun --nodes=1 --ntasks=1 --nodelist="$head" --overlap \
    ray start --head --block --port "${address##*:}" --include-dashboard=false &
until kernelwright farm status --execution "ray://$address" > /dev/null 2>&1; do sleep 1; done
if ((others > 0)); then
    srun --nodes="$others" --ntasks="$others" --exclude="$head" --overlap ray start --address "$address" --block &
fi
export RAY_ADDRESS="$address"
echo "cluster: $address"
kernelwright farm status --execution ray

# Slurm's TERM comes two minutes before the end: the run writes its best so far.
kernelwright "$@" --execution ray &
command=$!
trap 'kill -TERM "$command"' TERM
status=0
wait "$command" || status=$?
if kill -0 "$command" 2> /dev/null; then # the trap was taken while it went on
    status=0
    wait "$command" || status=$?
fi
trap - TERM
kill -TERM $(jobs -p) 2> /dev/null || true
exit "$status"
