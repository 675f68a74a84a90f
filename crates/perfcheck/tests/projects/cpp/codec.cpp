#include <benchmark/benchmark.h>

#include <cstdint>
#include <vector>

// Doubled by a test: the slowdown that is to be found.
static const int ROUNDS = 1;

static void Encode(benchmark::State& state) {
  std::vector<uint8_t> data(state.range(0));
  for (auto _ : state) {
    uint32_t hash = 2166136261u;
    for (int round = 0; round < ROUNDS; round++) {
      for (uint8_t one : data) {
        hash = (hash ^ one) * 16777619u;
      }
    }
    benchmark::DoNotOptimize(hash);
  }
}
BENCHMARK(Encode)->Arg(4096)->Arg(16384);
