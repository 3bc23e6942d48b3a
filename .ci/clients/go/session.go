// What franz-go does against a cluster: transactions, every third aborted, read back.
package main

import (
	"context"
	"fmt"
	"os"
	"sort"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func topic(ctx context.Context, bootstrap, name string) {
	client, err := kgo.NewClient(kgo.SeedBrokers(bootstrap))
	check(err)
	defer client.Close()
	request := kmsg.NewPtrCreateTopicsRequest()
	t := kmsg.NewCreateTopicsRequestTopic()
	t.Topic, t.NumPartitions, t.ReplicationFactor = name, 2, 3
	request.Topics = append(request.Topics, t)
	_, err = request.RequestWith(ctx, client)
	check(err)
}

func main() {
	bootstrap, run := os.Args[1], fmt.Sprint(time.Now().UnixNano())
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	name := "franz-" + run
	topic(ctx, bootstrap, name)
	client, err := kgo.NewClient(kgo.SeedBrokers(bootstrap), kgo.TransactionalID("go-"+run), kgo.DefaultProduceTopic(name))
	check(err)
	var committed []string
	for n := 0; n < 60; n++ {
		for done := false; !done; {
			check(client.BeginTransaction())
			var values []string
			for i := 0; i < 5; i++ {
				value := fmt.Sprintf("t%04d.%d", n, i)
				values = append(values, value)
				client.Produce(ctx, kgo.StringRecord(value), nil)
			}
			flushed := client.Flush(ctx)
			how := kgo.TransactionEndTry(n%3 != 2 && flushed == nil)
			if err := client.EndTransaction(ctx, how); err != nil {
				fmt.Println("  aborts after", err)
				check(client.EndTransaction(ctx, kgo.TryAbort))
				continue
			}
			if how == kgo.TryCommit {
				committed = append(committed, values...)
			}
			done = flushed == nil
		}
	}
	client.Close()
	reader, err := kgo.NewClient(kgo.SeedBrokers(bootstrap), kgo.ConsumeTopics(name),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	check(err)
	defer reader.Close()
	var found []string
	for len(found) < len(committed) {
		fetches := reader.PollFetches(ctx)
		for _, failed := range fetches.Errors() {
			check(failed.Err)
		}
		fetches.EachRecord(func(r *kgo.Record) { found = append(found, string(r.Value)) })
	}
	sort.Strings(found)
	sort.Strings(committed)
	if strings.Join(found, " ") != strings.Join(committed, " ") {
		panic(fmt.Sprintf("%d found, %d committed", len(found), len(committed)))
	}
	fmt.Println("ok transactional")
}
