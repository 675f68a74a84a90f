// Produces records as fast as franz-go does with its default settings, or consumes as many: kgo produce|consume BROKERS TOPIC
// RECORDS BYTES ACKS. Prints the records and the seconds they took.
package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

func fail(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func main() {
	if len(os.Args) != 7 {
		fail(fmt.Errorf("usage: kgo produce|consume BROKERS TOPIC RECORDS BYTES ACKS"))
	}
	way, topic := os.Args[1], os.Args[3]
	records, err := strconv.Atoi(os.Args[4])
	fail(err)
	size, err := strconv.Atoi(os.Args[5])
	fail(err)
	options := []kgo.Opt{kgo.SeedBrokers(strings.Split(os.Args[2], ",")...)}
	switch {
	case way == "consume":
		options = append(options, kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	case os.Args[6] == "1":
		options = append(options, kgo.RequiredAcks(kgo.LeaderAck()), kgo.DisableIdempotentWrite())
	}
	client, err := kgo.NewClient(options...)
	fail(err)
	defer client.Close()
	ctx := context.Background()
	began := time.Now()
	done := 0
	if way == "consume" {
		for done < records {
			fetches := client.PollFetches(ctx)
			fail(fetches.Err())
			done += fetches.NumRecords()
		}
	} else {
		var acknowledged atomic.Int64
		value := bytes.Repeat([]byte{'a'}, size)
		for range records {
			client.Produce(ctx, &kgo.Record{Topic: topic, Value: value}, func(_ *kgo.Record, err error) {
				fail(err)
				acknowledged.Add(1)
			})
		}
		fail(client.Flush(ctx))
		done = int(acknowledged.Load())
	}
	fmt.Printf("%d %.6f\n", done, time.Since(began).Seconds())
}
