#!/usr/bin/env bash
# A sweep in @SHARES@ shares with GNU parallel, then one report.
#
#   bash sweep.sh
#   EOSIM=bin/eosim OUT=runs JOBS=16 bash sweep.sh
#   PARALLEL="--sshloginfile nodes --workdir ." bash sweep.sh
#
# With several machines, the folder is shared by all of them. What was killed goes on where it was
# if the script is started again, and what has ended is not run anew. The exit code is that of the whole sweep.
set -euo pipefail
eosim=${EOSIM:-eosim}
out=${OUT:-sim-runs/parallel}

# How a share ends is judged by the merge.
seq @SHARES@ | parallel --jobs "${JOBS:-100%}" --line-buffer --tag "$eosim" sweep @QUOTED@ \
    --jobs 1 --partition '{}/@SHARES@' --resume --progress plain --out "$out/shares/{}" || true

@MERGE@
"$eosim" report "$out/merged" --as html >"$out/report.html"
"$eosim" report "$out/merged"
exit "$code"
