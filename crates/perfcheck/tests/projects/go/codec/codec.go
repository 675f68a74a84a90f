// Package codec has something to measure.
package codec

// Rounds is doubled by a test: the slowdown that is to be found.
const Rounds = 1

// Encode makes a checksum of bytes.
func Encode(data []byte) []byte {
	out := make([]byte, len(data))
	for round := 0; round < Rounds; round++ {
		hash := uint32(2166136261)
		for at, one := range data {
			hash = (hash ^ uint32(one)) * 16777619
			out[at] = byte(hash)
		}
	}
	return out
}
