package codec

import (
	"fmt"
	"testing"
	"time"
)

func BenchmarkEncode(b *testing.B) {
	for _, size := range []int{1024, 16384} {
		data := make([]byte, size)
		b.Run(fmt.Sprintf("%d-byte", size), func(b *testing.B) {
			for i := 0; i < b.N; i++ {
				Encode(data)
			}
		})
	}
}

// Not slower when Rounds is doubled.
func BenchmarkFixed(b *testing.B) {
	data := make([]byte, 4096)
	sum, began := 0, time.Now()
	for i := 0; i < b.N; i++ {
		for at := range data {
			sum += int(data[at]) ^ at ^ sum<<1
		}
	}
	b.ReportMetric(float64(b.N)/time.Since(began).Seconds(), "requests/s")
	data[0] = byte(sum)
}
