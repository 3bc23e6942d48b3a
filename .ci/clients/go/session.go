// What franz-go does against a cluster: transactions, every third aborted, read back; two members of a group
// that consume, transform and produce; and a producer that is paused for longer than its timeout.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sort"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

var (
	bootstrap = os.Args[1]
	run       = os.Getenv("RUN")
)

// After so long without a record a member has done its part: longer than a coordinator takes to come back.
const quiet = 15 * time.Second

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func client(options ...kgo.Opt) *kgo.Client {
	client, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(bootstrap)}, options...)...)
	check(err)
	return client
}

func topic(ctx context.Context, name string, partitions int32) string {
	name += "-" + run
	admin := client()
	defer admin.Close()
	request := kmsg.NewPtrCreateTopicsRequest()
	t := kmsg.NewCreateTopicsRequestTopic()
	t.Topic, t.NumPartitions, t.ReplicationFactor = name, partitions, 3
	request.Topics = append(request.Topics, t)
	_, err := request.RequestWith(ctx, admin)
	check(err)
	return name
}

// What a read_committed reader is given, up to so many records and a while longer.
func read(ctx context.Context, name string, count int) []string {
	reader := client(kgo.ConsumeTopics(name), kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	defer reader.Close()
	var found []string
	for {
		patience, cancel := context.WithTimeout(ctx, 2*time.Second)
		if len(found) < count {
			patience, cancel = context.WithTimeout(ctx, time.Minute)
		}
		fetches := reader.PollFetches(patience)
		over := patience.Err() != nil
		cancel()
		check(ctx.Err())
		before := len(found)
		fetches.EachRecord(func(r *kgo.Record) { found = append(found, string(r.Value)) })
		if over && len(found) == before {
			sort.Strings(found)
			return found
		}
	}
}

func same(found, wanted []string) {
	sort.Strings(wanted)
	if strings.Join(found, " ") != strings.Join(wanted, " ") {
		panic(fmt.Sprintf("%d found, %d wanted", len(found), len(wanted)))
	}
}

// Ends a transaction; false if it was aborted in the place of a commit. What cannot be told is asked again.
func end(ctx context.Context, client *kgo.Client, how kgo.TransactionEndTry) bool {
	err := client.EndTransaction(ctx, how)
	if err == nil {
		return true
	}
	fmt.Println("  aborts after", err)
	check(client.EndTransaction(ctx, kgo.TryAbort))
	return false
}

func transactional(ctx context.Context) {
	name := topic(ctx, "franz", 2)
	producer := client(kgo.TransactionalID("go-"+run), kgo.DefaultProduceTopic(name))
	var committed []string
	for n := 0; n < 60; n++ {
		for done := false; !done; {
			check(producer.BeginTransaction())
			var values []string
			for i := 0; i < 5; i++ {
				value := fmt.Sprintf("t%04d.%d", n, i)
				values = append(values, value)
				producer.Produce(ctx, kgo.StringRecord(value), nil)
			}
			flushed := producer.Flush(ctx)
			how := kgo.TransactionEndTry(n%3 != 2 && flushed == nil)
			done = end(ctx, producer, how) && flushed == nil
			if done && how == kgo.TryCommit {
				committed = append(committed, values...)
			}
		}
	}
	producer.Close()
	same(read(ctx, name, len(committed)), committed)
}

// A member goes on until there has been nothing to read for a while. Of a transaction whose end failed nobody
// knows what became (GroupTransactSession.End): the member leaves, and another one takes its place.
func transformer(ctx context.Context, member int, source, target string) {
	for idle := time.Now(); time.Since(idle) < quiet; {
		session, err := kgo.NewGroupTransactSession(kgo.SeedBrokers(bootstrap), kgo.ConsumerGroup("group-"+run),
			kgo.TransactionalID(fmt.Sprintf("member-%d-%s", member, run)), kgo.ConsumeTopics(source),
			kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.RequireStableFetchOffsets(),
			kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.DefaultProduceTopic(target))
		check(err)
		for ; err == nil && time.Since(idle) < quiet; check(ctx.Err()) {
			patience, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
			records := session.PollRecords(patience, 20).Records()
			cancel()
			if len(records) > 0 {
				err = attempt(ctx, session, records)
				idle = time.Now()
			}
		}
		session.Close()
		if err != nil {
			fmt.Println("  member", member, "begins anew after", err)
		}
	}
}

// One transaction over what was read; if it is aborted, that is read again.
func attempt(ctx context.Context, session *kgo.GroupTransactSession, records []*kgo.Record) error {
	if err := session.Begin(); err != nil {
		return err
	}
	for _, r := range records {
		session.Produce(ctx, &kgo.Record{Key: r.Key, Value: append(r.Value, '!')}, nil)
	}
	_, err := session.End(ctx, kgo.TryCommit)
	return err
}

func transform(ctx context.Context) {
	source, target := topic(ctx, "source", 4), topic(ctx, "target", 2)
	producer := client(kgo.DefaultProduceTopic(source))
	var wanted []string
	const count = 400
	for n := 0; n < count; n++ {
		value := fmt.Sprintf("x%05d", n)
		wanted = append(wanted, value+"!")
		producer.Produce(ctx, kgo.KeyStringRecord(value, value), nil)
	}
	check(producer.Flush(ctx))
	producer.Close()
	var members sync.WaitGroup
	for member := 0; member < 2; member++ {
		members.Add(1)
		go func() {
			defer members.Done()
			transformer(ctx, member, source, target)
		}()
	}
	members.Wait()
	same(read(ctx, target, count), wanted)
}

// Sends within a transaction, is paused from outside for longer than its timeout, and then commits.
func paused(ctx context.Context) {
	name := topic(ctx, "paused", 1)
	producer := client(kgo.TransactionalID("paused-"+run), kgo.TransactionTimeout(2*time.Second),
		kgo.DefaultProduceTopic(name))
	defer producer.Close()
	check(producer.BeginTransaction())
	check(producer.ProduceSync(ctx, kgo.StringRecord("before")).FirstErr())
	check(producer.EndTransaction(ctx, kgo.TryCommit))
	check(producer.BeginTransaction())
	check(producer.ProduceSync(ctx, kgo.StringRecord("old")).FirstErr())
	fmt.Println("open")
	time.Sleep(time.Second)
	err := producer.ProduceSync(ctx, kgo.StringRecord("old too")).FirstErr()
	if err == nil {
		err = producer.EndTransaction(ctx, kgo.TryCommit)
	}
	if err == nil {
		panic("the paused producer commits")
	}
	var known *kerr.Error
	fmt.Println("  refused:", err, errors.As(err, &known))
}

// Takes the place of the paused producer.
func successor(ctx context.Context) {
	producer := client(kgo.TransactionalID("paused-"+run), kgo.DefaultProduceTopic("paused-"+run))
	defer producer.Close()
	check(producer.BeginTransaction())
	check(producer.ProduceSync(ctx, kgo.StringRecord("new")).FirstErr())
	check(producer.EndTransaction(ctx, kgo.TryCommit))
}

// What is there of both.
func inherited(ctx context.Context) {
	same(read(ctx, "paused-"+run, 2), []string{"before", "new"})
}

func main() {
	if run == "" {
		run = fmt.Sprint(time.Now().UnixNano())
	}
	steps := map[string]func(context.Context){
		"transactional": transactional, "transform": transform,
		"paused": paused, "successor": successor, "inherited": inherited,
	}
	for _, step := range os.Args[2:] {
		ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
		began := time.Now()
		steps[step](ctx)
		cancel()
		fmt.Println("ok", step, time.Since(began).Milliseconds(), "ms")
	}
}
