#!/usr/bin/env bash
# A sweep in @SHARES@ shares as a Slurm job array, then one job that merges them and reports.
#
#   bash sweep.sh                submits both
#   EOSIM=bin/eosim OUT=runs bash sweep.sh
#
# The folder OUT is shared by all nodes. A task that was killed or requeued goes on where it was; so
# does everything if the script is submitted again, and what has ended is not run anew. A share in which something is found ends with
# its exit code, so Slurm calls it FAILED; it is merged all the same. The exit code of the merging
# job is that of the whole sweep.
set -euo pipefail
eosim=${EOSIM:-eosim}
out=${OUT:-sim-runs/slurm}

case ${1:-submit} in
submit)
    mkdir -p "$out/logs"
    # A minute before its time is up, a task is asked to come to an end.
    array=$(sbatch --parsable --job-name=eosim-sweep --array=1-@SHARES@ --requeue \
        --signal=B:INT@60 --output="$out/logs/%a.txt" --export=ALL "$0" share)
    merge=$(sbatch --parsable --job-name=eosim-merge --dependency="afterany:${array%%;*}" \
        --output="$out/logs/merge.txt" --export=ALL "$0" merge)
    echo "shares $array, then merge $merge; the end is in $out/logs/merge.txt"
    ;;
share)
    exec "$eosim" sweep @SWEEP@ \
        --partitions @SHARES@ --resume --progress plain --out "$out/shares/$SLURM_ARRAY_TASK_ID"
    ;;
merge)
    @MERGE@
    "$eosim" report "$out/merged" --as html >"$out/report.html"
    "$eosim" report "$out/merged"
    exit "$code"
    ;;
*)
    echo "$0: found $1, expected submit, share or merge" >&2
    exit 2
    ;;
esac
