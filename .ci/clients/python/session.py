"""What librdkafka does against a cluster: transactions, every third aborted, read back; and two members
of a group that consume, transform and produce. Needs `pip install confluent-kafka`."""

import os
import sys
import threading
import time

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

BOOTSTRAP = sys.argv[1]
# A connection that breaks again and again is waited for ever longer, up to 10 s, if nothing else is said.
CLIENT = {"bootstrap.servers": BOOTSTRAP, "reconnect.backoff.max.ms": 250}
RUN = os.environ.get("RUN", str(time.time_ns()))


def topic(name, partitions):
    name = f"{name}-{RUN}"
    admin = AdminClient(CLIENT)
    admin.create_topics([NewTopic(name, partitions, 3)])[name].result(30)
    return name


def read(name, partitions, count):
    """What a read_committed reader is given, up to `count` records and a while longer."""
    consumer = Consumer({
        **CLIENT, "group.id": f"reader-{RUN}", "enable.auto.commit": False,
        "auto.offset.reset": "earliest", "isolation.level": "read_committed",
    })
    consumer.assign([TopicPartition(name, p, 0) for p in range(partitions)])
    values, until = [], time.time() + 60
    while time.time() < until:
        record = consumer.poll(0.5)
        if record is None and len(values) >= count:
            break
        if record is not None and record.error() is None:
            values.append(record.value().decode())
    consumer.close()
    return sorted(values)


def insist(what, *arguments):
    """Asks again as long as that may help, which it does within a minute and a half."""
    until = time.time() + 90
    while True:
        try:
            return what(*arguments)
        except KafkaException as error:
            print("  after", error, flush=True)
            if time.time() > until or not error.args[0].retriable():
                raise


def end(producer, commit):
    """Ends a transaction; false if it could only be aborted."""
    try:
        insist(producer.commit_transaction if commit else producer.abort_transaction, 30)
        return True
    except KafkaException as error:
        if not error.args[0].txn_requires_abort():
            raise
        insist(producer.abort_transaction, 30)
        return False


def transactional(count):
    name = topic("transactional", 2)
    producer = Producer({**CLIENT, "transactional.id": f"py-{RUN}", "linger.ms": 1})
    producer.init_transactions(30)
    committed = []
    for number in range(count):
        values = [f"t{number:04}.{n}" for n in range(5)]
        while True:
            producer.begin_transaction()
            for value in values:
                producer.produce(name, value.encode(), key=value.encode())
            wanted = number % 3 != 2
            if end(producer, wanted):
                if wanted:
                    committed += values
                break
    found = read(name, 2, len(committed))
    assert found == sorted(committed), (len(found), len(committed))


def rewind(consumer):
    """To where the group has committed: what was aborted is to be read again."""
    for at in consumer.committed(consumer.assignment(), 30):
        consumer.seek(TopicPartition(at.topic, at.partition, max(at.offset, 0)))


def attempt(consumer, producer, records, target):
    """One transaction over what was read; true if it is committed."""
    producer.begin_transaction()
    try:
        for record in records:
            producer.produce(target, record.value() + b"!", key=record.key())
        offsets = consumer.position(consumer.assignment())
        insist(producer.send_offsets_to_transaction, offsets, consumer.consumer_group_metadata(), 30)
    except KafkaException as error:
        if not error.args[0].txn_requires_abort():
            raise
        insist(producer.abort_transaction, 30)
        return False
    return end(producer, True)


def transformer(member, source, target, done, count, failures):
    try:
        consumer = Consumer({
            **CLIENT, "group.id": f"group-{RUN}", "enable.auto.commit": False,
            "auto.offset.reset": "earliest", "isolation.level": "read_committed",
        })
        producer = Producer({**CLIENT, "transactional.id": f"member-{member}-{RUN}"})
        producer.init_transactions(30)
        consumer.subscribe([source])
        until = time.time() + 90
        while len(done) < count and time.time() < until and not failures:
            records = [r for r in consumer.consume(20, 0.2) if r.error() is None]
            if not records:
                continue
            if attempt(consumer, producer, records, target):
                done.update(record.value() for record in records)
            else:
                rewind(consumer)
        consumer.close()
    except Exception as error:  # the main thread tells
        print("  member", member, "fails with", repr(error), flush=True)
        failures.append(error)


def transform(count):
    source, target = topic("source", 4), topic("target", 2)
    producer = Producer({**CLIENT, "enable.idempotence": True})
    values = [f"x{n:05}" for n in range(count)]
    for value in values:
        producer.produce(source, value.encode(), key=value.encode())
    producer.flush(30)
    done, failures = set(), []
    members = [
        threading.Thread(target=transformer, args=(m, source, target, done, count, failures)) for m in range(2)
    ]
    [member.start() for member in members]
    [member.join() for member in members]
    assert not failures, failures
    found = read(target, 2, count)
    assert found == [value + "!" for value in values], (len(found), count)


def paused():
    """Sends within a transaction, is paused from outside for longer than its timeout, and then commits."""
    name = topic("paused", 1)
    producer = Producer({
        **CLIENT, "transactional.id": f"paused-{RUN}", "transaction.timeout.ms": 2000,
        "linger.ms": 0,
    })
    producer.init_transactions(30)
    producer.begin_transaction()
    producer.produce(name, b"before")
    producer.commit_transaction(30)
    producer.begin_transaction()
    producer.produce(name, b"old")
    producer.flush(10)
    print("open", flush=True)
    time.sleep(1)
    try:
        producer.produce(name, b"old too")
        producer.commit_transaction(30)
    except KafkaException as error:
        print("  refused:", error, flush=True)
        return
    raise AssertionError("the paused producer commits")


def successor():
    """Takes the place of the paused producer."""
    producer = Producer({**CLIENT, "transactional.id": f"paused-{RUN}"})
    producer.init_transactions(30)
    producer.begin_transaction()
    producer.produce(f"paused-{RUN}", b"new")
    producer.commit_transaction(30)


def inherited():
    """What is there of both."""
    found = read(f"paused-{RUN}", 1, 2)
    assert found == ["before", "new"], found


def follow(name, over, written, read, failures):
    """Reads numbers that must follow on each other."""
    consumer = Consumer({
        **CLIENT, "group.id": f"load-{RUN}", "enable.auto.commit": False,
        "auto.offset.reset": "error", "isolation.level": "read_committed",
    })
    consumer.assign([TopicPartition(name, p, 0) for p in range(2)])
    patience = None
    while not over.is_set() or (read != written and time.time() < patience):
        patience = patience or (time.time() + 60 if over.is_set() else None)
        for record in consumer.consume(500, 0.2):
            if record.error():
                failures.append(str(record.error()))
                return
            if int(record.value()) != read[record.partition()]:
                failures.append((record.partition(), record.offset(), record.value(), read))
                return
            read[record.partition()] += 1
    consumer.close()


def load(seconds):
    """Writes transactions for so long, every tenth aborted, and reads along."""
    name = topic("load", 2)
    over, written, read, failures = threading.Event(), [0, 0], [0, 0], []
    reader = threading.Thread(target=follow, args=(name, over, written, read, failures))
    reader.start()
    producer = Producer({**CLIENT, "transactional.id": f"load-{RUN}", "linger.ms": 2})
    producer.init_transactions(30)
    until, transactions, aborted = time.time() + seconds, 0, 0
    while time.time() < until and not failures:
        transactions += 1
        commits = transactions % 10 != 0
        producer.begin_transaction()
        for number in range(50):
            for partition in range(2):
                value = str(written[partition] + number) if commits else "-1"
                producer.produce(name, value, partition=partition)
        if end(producer, commits) and commits:
            written[:] = [count + 50 for count in written]
        elif commits:
            aborted += 1
    over.set()
    reader.join()
    assert not failures, failures
    assert read == written, (read, written)
    print(f"ok librdkafka load: {sum(read)} records in {transactions} transactions, {aborted} aborted by errors,"
          f" {sum(read) // seconds} records/s")


if sys.argv[2] == "load":
    load(int(sys.argv[3]))
    sys.exit()

STEPS = {
    "transactional": lambda: transactional(60),
    "transform": lambda: transform(400),
    "paused": paused,
    "successor": successor,
    "inherited": inherited,
}
for step in sys.argv[2:]:
    began = time.time()
    STEPS[step]()
    print(f"ok {step} {int((time.time() - began) * 1000)} ms")
