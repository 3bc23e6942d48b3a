# What the scripts of this folder share: where things lie, how clients are built and begun. To be sourced.
cd "$(dirname "$0")/../.."
eosim=${EOSIM:-target/release/eosim}
libs="target/kafka/4.4.0/libs"
work=target/clients
port=${PORT:-29092}
bootstrap=127.0.0.1:$port
control=127.0.0.1:$((port + 90))

prepare() {
  mkdir -p "$work" "$libs"
  [ -f "$libs/kafka-tools-4.4.0.jar" ] || mvn --quiet --batch-mode --file .ci/kafka.pom.xml -Dkafka.version=4.4.0 \
    dependency:copy-dependencies -DoutputDirectory="$PWD/$libs" -DincludeScope=runtime
  touch "$libs/done"
  javac -cp "$libs/*" -d "$work" .ci/clients/java/Session.java
  (cd .ci/clients/go && go build -o "../../../$work/franz" .)
  [ -d "$work/venv" ] || { python3 -m venv "$work/venv" && "$work/venv/bin/pip" -q install confluent-kafka; }
}

client() {
  local client=$1
  shift
  case "$client" in
    java) exec java -Xmx256m -cp "$work:$libs/*" Session "$bootstrap" "$@" ;;
    librdkafka) exec "$work/venv/bin/python" .ci/clients/python/session.py "$bootstrap" "$@" ;;
    franz-go) exec "$work/franz" "$bootstrap" "$@" ;;
    tools) exec .ci/clients/tools "$bootstrap" "$libs/*" "$@" ;;
    *) echo "no client is called $client" >&2; exit 2 ;;
  esac
}

# A fresh cluster under these rules; its id is in `served`, its verdict will be in LOG.verdict.
serve() {
  local log=$1 rules=$2
  "$eosim" serve --listen "$bootstrap" --control "$control" > "$log.verdict" 2> "$log.served" &
  served=$!
  for _ in $(seq 50); do curl -sf "http://$control/state" > /dev/null && break; sleep 0.1; done
  curl -sf -X POST "http://$control/faults" -d "$rules" > /dev/null
}

# Ends it; what the checker found is in `verdict`.
judge() {
  kill -INT "$served"
  wait "$served" || true
  verdict=$(grep -o '^SOUND\|^VIOLATION [a-z-]*' "$1.verdict" | sort -u | paste -sd ' ' || true)
}
