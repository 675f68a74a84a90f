package codec;

import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.State;

@State(Scope.Thread)
public class CodecBenchmark {
    /** Doubled by a test: the slowdown that is to be found. */
    static final int ROUNDS = 1;

    private final byte[] data = new byte[16384];

    @State(Scope.Thread)
    public static class Size {
        @Param({"4096", "16384"})
        public int size;
    }

    private int encode(int size) {
        int hash = 0x811c9dc5;
        for (int round = 0; round < ROUNDS; round++) {
            for (int at = 0; at < size; at++) {
                hash = (hash ^ data[at]) * 16777619;
            }
        }
        return hash;
    }

    @Benchmark
    @BenchmarkMode(Mode.AverageTime)
    @OutputTimeUnit(TimeUnit.NANOSECONDS)
    public int encode(Size size) {
        return encode(size.size);
    }

    @Benchmark
    @BenchmarkMode(Mode.Throughput)
    @OutputTimeUnit(TimeUnit.MICROSECONDS)
    public int rate() {
        return encode(data.length);
    }
}
