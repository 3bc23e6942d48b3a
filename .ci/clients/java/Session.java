import java.time.Duration;
import java.util.*;
import java.util.concurrent.*;
import org.apache.kafka.clients.admin.*;
import org.apache.kafka.clients.consumer.*;
import org.apache.kafka.clients.producer.*;
import org.apache.kafka.common.*;
import org.apache.kafka.common.errors.*;
import org.apache.kafka.common.serialization.*;

/** What the Java client does against a cluster: the names of the steps to run are the arguments. */
public class Session {
  static String bootstrap;
  /** Makes names of topics and ids this run's own; given if several processes belong together. */
  static final String RUN = System.getenv().getOrDefault("RUN", Long.toString(System.nanoTime(), 36));

  static Properties properties(Object... more) {
    Properties p = new Properties();
    p.put("bootstrap.servers", bootstrap);
    for (int i = 0; i < more.length; i += 2) p.put(more[i].toString(), more[i + 1].toString());
    return p;
  }

  static KafkaProducer<String, String> producer(Object... more) {
    return new KafkaProducer<>(properties(more), new StringSerializer(), new StringSerializer());
  }

  static KafkaConsumer<String, String> consumer(Object... more) {
    return new KafkaConsumer<>(properties(more), new StringDeserializer(), new StringDeserializer());
  }

  static String topic(String name, int partitions, short replicas) throws Exception {
    String topic = name + "-" + RUN;
    try (Admin admin = Admin.create(properties())) {
      admin.createTopics(List.of(new NewTopic(topic, partitions, replicas))).all().get();
    }
    return topic;
  }

  /** Everything up to the end, as a reader of that isolation level sees it. */
  static List<String> read(String topic, int partitions, String isolation) {
    List<String> values = new ArrayList<>();
    try (KafkaConsumer<String, String> c = consumer("isolation.level", isolation, "auto.offset.reset", "earliest")) {
      List<TopicPartition> all = new ArrayList<>();
      for (int i = 0; i < partitions; i++) all.add(new TopicPartition(topic, i));
      c.assign(all);
      c.seekToBeginning(all);
      Map<TopicPartition, Long> ends = c.endOffsets(all);
      long until = System.currentTimeMillis() + 60_000;
      while (all.stream().anyMatch(tp -> c.position(tp) < ends.get(tp))) {
        if (System.currentTimeMillis() > until) throw new IllegalStateException("no end of " + topic);
        for (ConsumerRecord<String, String> r : c.poll(Duration.ofMillis(200))) values.add(r.value());
      }
    }
    Collections.sort(values);
    return values;
  }

  static void expect(Object wanted, Object found) {
    if (!wanted.equals(found)) throw new IllegalStateException("expected " + wanted + ", found " + found);
  }

  static List<String> values(String prefix, int count) {
    List<String> values = new ArrayList<>();
    for (int i = 0; i < count; i++) values.add(String.format("%s%05d", prefix, i));
    return values;
  }

  /** acks=all, idempotent: everything is there once. */
  static void idempotent(int count) throws Exception {
    String topic = topic("idempotent", 3, (short) 3);
    try (KafkaProducer<String, String> p = producer("linger.ms", 1, "compression.type", "lz4")) {
      List<Future<RecordMetadata>> sent = new ArrayList<>();
      for (String v : values("i", count)) sent.add(p.send(new ProducerRecord<>(topic, v, v)));
      for (Future<RecordMetadata> f : sent) f.get();
    }
    expect(values("i", count), read(topic, 3, "read_uncommitted"));
  }

  /** Transactions, every third aborted. */
  static void transactional(int count) throws Exception {
    String topic = topic("transactional", 2, (short) 3);
    List<String> committed = new ArrayList<>();
    try (KafkaProducer<String, String> p = producer("transactional.id", "txn-" + RUN)) {
      p.initTransactions();
      for (int t = 0; t < count; t++) {
        while (true) {
          try {
            p.beginTransaction();
            for (String v : values("t" + t + ".", 5)) p.send(new ProducerRecord<>(topic, v, v));
            if (t % 3 == 2) p.abortTransaction();
            else {
              p.commitTransaction();
              committed.addAll(values("t" + t + ".", 5));
            }
            break;
          } catch (ProducerFencedException | InvalidProducerEpochException fatal) {
            throw fatal;
          } catch (KafkaException e) {
            System.out.println("  aborts after " + e);
            p.abortTransaction();
          }
        }
      }
    }
    Collections.sort(committed);
    expect(committed, read(topic, 2, "read_committed"));
  }

  /** Two members of one group consume, transform and produce in transactions. */
  static void transform(int count, String protocol) throws Exception {
    String input = topic("input-" + protocol, 4, (short) 3), output = topic("output-" + protocol, 2, (short) 3);
    try (KafkaProducer<String, String> p = producer()) {
      for (String v : values("x", count)) p.send(new ProducerRecord<>(input, v, v));
      p.flush();
    }
    ConcurrentHashMap<String, Boolean> done = new ConcurrentHashMap<>();
    ExecutorService pool = Executors.newCachedThreadPool();
    List<Future<?>> members = new ArrayList<>();
    long until = System.currentTimeMillis() + 120_000;
    for (int m = 0; m < 2; m++) {
      int member = m;
      members.add(pool.submit(() -> transformer(member, input, output, protocol, count, done, until)));
    }
    for (Future<?> f : members) f.get();
    pool.shutdown();
    List<String> wanted = new ArrayList<>();
    for (String v : values("x", count)) wanted.add(v + "!");
    expect(wanted, read(output, 2, "read_committed"));
  }

  static void transformer(int member, String input, String output, String protocol, int count,
      ConcurrentHashMap<String, Boolean> done, long until) {
    try (KafkaConsumer<String, String> c = consumer("group.id", "group-" + RUN + protocol, "group.protocol", protocol,
            "enable.auto.commit", false, "isolation.level", "read_committed", "auto.offset.reset", "earliest",
            "max.poll.records", 20);
        KafkaProducer<String, String> p = producer("transactional.id", "member-" + member + RUN + protocol)) {
      p.initTransactions();
      c.subscribe(List.of(input));
      while (done.size() < count) {
        if (System.currentTimeMillis() > until) throw new IllegalStateException("done " + done.size() + " of " + count);
        ConsumerRecords<String, String> records = c.poll(Duration.ofMillis(100));
        if (records.isEmpty()) continue;
        try {
          p.beginTransaction();
          Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
          for (ConsumerRecord<String, String> r : records) {
            p.send(new ProducerRecord<>(output, r.key(), r.value() + "!"));
            offsets.put(new TopicPartition(r.topic(), r.partition()), new OffsetAndMetadata(r.offset() + 1));
          }
          p.sendOffsetsToTransaction(offsets, c.groupMetadata());
          p.commitTransaction();
          for (ConsumerRecord<String, String> r : records) done.put(r.value(), true);
        } catch (ProducerFencedException | InvalidProducerEpochException fatal) {
          throw fatal;
        } catch (KafkaException e) {
          System.out.println("  member " + member + " aborts after " + e);
          p.abortTransaction();
          for (TopicPartition tp : c.assignment()) {
            OffsetAndMetadata at = c.committed(Set.of(tp)).get(tp);
            if (at == null) c.seekToBeginning(List.of(tp));
            else c.seek(tp, at.offset());
          }
        }
      }
    }
  }

  /** The older of two producers with one transactional id is fenced. */
  static void fencing() throws Exception {
    String topic = topic("fencing", 1, (short) 3);
    try (KafkaProducer<String, String> old = producer("transactional.id", "fence-" + RUN);
        KafkaProducer<String, String> next = producer("transactional.id", "fence-" + RUN)) {
      old.initTransactions();
      old.beginTransaction();
      old.send(new ProducerRecord<>(topic, "old")).get();
      next.initTransactions();
      next.beginTransaction();
      next.send(new ProducerRecord<>(topic, "new")).get();
      boolean fenced = false;
      try {
        old.commitTransaction();
      } catch (ProducerFencedException | InvalidProducerEpochException e) {
        fenced = true;
      }
      expect(true, fenced);
      next.commitTransaction();
    }
    expect(List.of("new"), read(topic, 1, "read_committed"));
  }

  /** Sends within a transaction, is paused from outside for longer than its timeout, and then commits. */
  static void paused() throws Exception {
    String topic = topic("paused", 1, (short) 3);
    try (KafkaProducer<String, String> p = producer("transactional.id", "paused-" + RUN, "transaction.timeout.ms", 2000,
        "max.block.ms", 20000)) {
      p.initTransactions();
      p.beginTransaction();
      p.send(new ProducerRecord<>(topic, "before")).get();
      p.commitTransaction();
      p.beginTransaction();
      p.send(new ProducerRecord<>(topic, "old")).get();
      System.out.println("open");
      Thread.sleep(1_000);
      try {
        p.send(new ProducerRecord<>(topic, "old too")).get();
        p.commitTransaction();
      } catch (KafkaException | ExecutionException e) {
        System.out.println("  refused: " + e);
        return;
      }
      throw new IllegalStateException("the paused producer commits");
    }
  }

  /** Takes the place of the paused producer. */
  static void successor() throws Exception {
    String topic = "paused-" + RUN;
    try (KafkaProducer<String, String> p = producer("transactional.id", "paused-" + RUN)) {
      p.initTransactions();
      p.beginTransaction();
      p.send(new ProducerRecord<>(topic, "new")).get();
      p.commitTransaction();
    }
  }

  /** What is there of both. */
  static void inherited() {
    expect(List.of("before", "new"), read("paused-" + RUN, 1, "read_committed"));
  }

  /** Writes transactions for so long, every tenth aborted, and reads along: numbers without gap or repetition. */
  static void load(int seconds) throws Exception {
    String topic = topic("load", 2, (short) 3);
    long[] written = new long[2];
    java.util.concurrent.atomic.AtomicBoolean over = new java.util.concurrent.atomic.AtomicBoolean();
    ExecutorService pool = Executors.newSingleThreadExecutor();
    Future<long[]> reader = pool.submit(() -> follow(topic, over, written));
    long began = System.currentTimeMillis(), transactions = 0, aborted = 0;
    try (KafkaProducer<String, String> p = producer("transactional.id", "load-" + RUN, "linger.ms", 2)) {
      p.initTransactions();
      while (System.currentTimeMillis() < began + seconds * 1000L && !reader.isDone()) {
        boolean commits = ++transactions % 10 != 0;
        try {
          p.beginTransaction();
          for (int i = 0; i < 50; i++)
            for (int tp = 0; tp < 2; tp++)
              p.send(new ProducerRecord<>(topic, tp, "", commits ? Long.toString(written[tp] + i) : "aborted"));
          if (commits) commit(p);
          else p.abortTransaction();
          if (commits) for (int tp = 0; tp < 2; tp++) written[tp] += 50;
        } catch (ProducerFencedException | InvalidProducerEpochException fatal) {
          throw fatal;
        } catch (KafkaException e) {
          aborted++;
          System.out.println("  aborts after " + e);
          p.abortTransaction();
        }
      }
    }
    over.set(true);
    long[] read = reader.get(90, TimeUnit.SECONDS);
    pool.shutdown();
    expect(Arrays.toString(written), Arrays.toString(read));
    System.out.println("ok java load: " + (read[0] + read[1]) + " records in " + transactions + " transactions, "
        + aborted + " aborted by errors, " + (read[0] + read[1]) / seconds + " records/s");
  }

  /** A commit that timed out is asked for again. */
  static void commit(KafkaProducer<String, String> p) {
    while (true) {
      try {
        p.commitTransaction();
        return;
      } catch (org.apache.kafka.common.errors.TimeoutException e) {
        System.out.println("  asks again after " + e);
      }
    }
  }

  /** Reads numbers that must follow on each other; how many there are of each partition in the end. */
  static long[] follow(String topic, java.util.concurrent.atomic.AtomicBoolean over, long[] written) {
    long[] next = new long[2];
    long patience = Long.MAX_VALUE;
    try (KafkaConsumer<String, String> c = consumer("isolation.level", "read_committed", "auto.offset.reset", "none")) {
      List<TopicPartition> all = List.of(new TopicPartition(topic, 0), new TopicPartition(topic, 1));
      c.assign(all);
      for (TopicPartition tp : all) c.seek(tp, 0);
      while (!over.get() || (!Arrays.equals(next, written) && System.currentTimeMillis() < patience)) {
        if (over.get() && patience == Long.MAX_VALUE) patience = System.currentTimeMillis() + 60_000;
        for (ConsumerRecord<String, String> r : c.poll(Duration.ofMillis(200)))
          expect(Long.toString(next[r.partition()]++), r.value());
      }
    }
    return next;
  }

  /** What an administrator asks. */
  static void admin() throws Exception {
    String topic = topic("admin", 1, (short) 3);
    try (Admin admin = Admin.create(properties());
        KafkaProducer<String, String> p = producer("transactional.id", "admin-" + RUN)) {
      expect(true, admin.describeCluster().nodes().get().size() >= 1);
      p.initTransactions();
      p.beginTransaction();
      p.send(new ProducerRecord<>(topic, "a")).get();
      String id = "admin-" + RUN;
      expect("ONGOING", admin.describeTransactions(List.of(id)).description(id).get().state().name());
      expect(true, admin.listTransactions().all().get().stream().anyMatch(t -> t.transactionalId().equals(id)));
      TopicPartition tp = new TopicPartition(topic, 0);
      expect(1, admin.describeProducers(List.of(tp)).partitionResult(tp).get().activeProducers().size());
      p.commitTransaction();
      admin.deleteRecords(Map.of(tp, RecordsToDelete.beforeOffset(1))).all().get();
      admin.deleteTopics(List.of(topic)).all().get();
    }
  }

  public static void main(String[] args) throws Exception {
    bootstrap = args[0];
    if (args[1].equals("load")) {
      load(Integer.parseInt(args[2]));
      return;
    }
    for (String step : Arrays.asList(args).subList(1, args.length)) {
      long began = System.currentTimeMillis();
      switch (step) {
        case "idempotent" -> idempotent(3_000);
        case "transactional" -> transactional(60);
        case "fencing" -> fencing();
        case "paused" -> paused();
        case "successor" -> successor();
        case "inherited" -> inherited();
        case "classic" -> transform(400, "classic");
        case "consumer" -> transform(400, "consumer");
        case "admin" -> admin();
        default -> throw new IllegalArgumentException(step);
      }
      System.out.println("ok " + step + " " + (System.currentTimeMillis() - began) + " ms");
    }
  }
}
