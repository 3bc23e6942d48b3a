code=0
rm -rf "${out:?}/merged" "${out:?}"/merged.*.part
"$eosim" merge "$out/shares" -o "$out/merged" || code=$?
# Nothing is merged of what was refused: its exit code says why.
[ -d "$out/merged" ] || exit "$code"
