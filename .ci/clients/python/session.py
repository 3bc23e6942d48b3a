"""What librdkafka does against a cluster: transactions, every third aborted, read back; and two members
of a group that consume, transform and produce. Needs `pip install confluent-kafka`."""

import sys
import threading
import time

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

BOOTSTRAP = sys.argv[1]
RUN = str(time.time_ns())


def topic(name, partitions):
    name = f"{name}-{RUN}"
    admin = AdminClient({"bootstrap.servers": BOOTSTRAP})
    admin.create_topics([NewTopic(name, partitions, 3)])[name].result(30)
    return name


def read(name, partitions, count):
    """What a read_committed reader is given, up to `count` records and a while longer."""
    consumer = Consumer({
        "bootstrap.servers": BOOTSTRAP, "group.id": f"reader-{RUN}", "enable.auto.commit": False,
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


def end(producer, commit):
    while True:
        try:
            producer.commit_transaction(30) if commit else producer.abort_transaction(30)
            return True
        except KafkaException as error:
            if error.args[0].retriable():
                continue
            if error.args[0].txn_requires_abort():
                producer.abort_transaction(30)
                return False
            raise


def transactional(count):
    name = topic("transactional", 2)
    producer = Producer({"bootstrap.servers": BOOTSTRAP, "transactional.id": f"py-{RUN}", "linger.ms": 1})
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


def transformer(member, source, target, done, count, failures):
    try:
        consumer = Consumer({
            "bootstrap.servers": BOOTSTRAP, "group.id": f"group-{RUN}", "enable.auto.commit": False,
            "auto.offset.reset": "earliest", "isolation.level": "read_committed",
        })
        producer = Producer({"bootstrap.servers": BOOTSTRAP, "transactional.id": f"member-{member}-{RUN}"})
        producer.init_transactions(30)
        consumer.subscribe([source])
        until = time.time() + 90
        while len(done) < count and time.time() < until:
            records = [r for r in consumer.consume(20, 0.2) if r.error() is None]
            if not records:
                continue
            producer.begin_transaction()
            for record in records:
                producer.produce(target, record.value() + b"!", key=record.key())
            offsets = consumer.position(consumer.assignment())
            producer.send_offsets_to_transaction(offsets, consumer.consumer_group_metadata(), 30)
            if end(producer, True):
                done.update(record.value() for record in records)
        consumer.close()
    except Exception as error:  # the main thread tells
        failures.append(error)


def transform(count):
    source, target = topic("source", 4), topic("target", 2)
    producer = Producer({"bootstrap.servers": BOOTSTRAP, "enable.idempotence": True})
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


for step in sys.argv[2:]:
    began = time.time()
    {"transactional": lambda: transactional(60), "transform": lambda: transform(400)}[step]()
    print(f"ok {step} {int((time.time() - began) * 1000)} ms")
