# The commands of the README. Everything else is CMake (CMakePresets.json).
JOBS ?= $(shell nproc)
RUNS ?= 100000
N ?= 100
FUZZ_SECONDS ?= 600
FUZZ_SEED ?= 0

.PHONY: deps build test test-all demo bench story sim mutations crash fuzz format tidy sanitize sanitize-some arm64 clean

deps:
	@scripts/install-deps.sh

build: deps
	@cmake --preset release > build-configure.log 2>&1 || { cat build-configure.log; exit 1; }
	@rm -f build-configure.log
	@cmake --build --preset release -j $(JOBS)

test: build
	@ctest --preset release -j $(JOBS)

# Hours. PARTS="sql sim" runs some of it; scripts/test_all.py --list names them.
test-all: build
	@scripts/test_all.py $(PARTS) --jobs $(JOBS)

demo: build
	@scripts/demo.py

bench: build
	@scripts/bench.sh

story: build
	@build/release/bin/story_test --facts

sim: build
	@build/release/bin/strandline sim examples/ad-clicks/job.sql --random-jobs --runs $(RUNS)

mutations: build
	@python3 tests/mutations/run.py -j $(JOBS)

# SINK=kafka: into the topics of a real broker; else into SQLite and files.
crash: build
	@python3 $(if $(filter kafka,$(SINK)),tests/servers/kafka_kill_test.py,tests/integration/kill_test.py) \
	  --binary build/release/bin/strandline --kills $(N)

# Half of the CPU time for SQL, half for expressions. FUZZ_SEED: where the cases begin.
fuzz: build
	@build/release/bin/fuzz sql --seconds $$(($(FUZZ_SECONDS) / 2)) --seed $(FUZZ_SEED)
	@build/release/bin/fuzz expressions --seconds $$(($(FUZZ_SECONDS) / 2)) --seed $(FUZZ_SEED)

format:
	@git ls-files '*.cc' '*.h' | xargs clang-format-19 -i

# Reads the units of the release build, which are few.
tidy: build
	@grep -o '"file": "[^"]*"' build/release/compile_commands.json | cut -d'"' -f4 | grep -E '/build/release/src/|/apps/' | \
	  xargs -P $(JOBS) -n 1 clang-tidy-19 -p build/release --quiet --extra-arg=-Wno-unknown-warning-option \
	  --extra-arg=-Wno-deprecated-declarations

sanitize: deps
	@for preset in asan tsan; do cmake --preset $$preset > /dev/null && cmake --build --preset $$preset -j $(JOBS) && ctest --preset $$preset -j $(JOBS) || exit 1; done

# A part of that: state, and what runs on several threads. Newer kernels scatter memory more than the thread sanitizer of
# g++ 12 expects; setarch keeps them from it.
sanitize-some: deps
	@cmake --preset asan > /dev/null && cmake --build --preset asan -j $(JOBS) --target state_test runtime_test
	@cmake --preset tsan > /dev/null && cmake --build --preset tsan -j $(JOBS) --target flow_test runtime_test
	@plain=''; setarch -R true 2> /dev/null && plain='setarch -R'; \
	for test in asan/bin/state_test asan/bin/runtime_test tsan/bin/flow_test tsan/bin/runtime_test; do \
	  echo "== $$test"; $$plain build/$$test --gtest_brief=1 || exit 1; done

arm64: build
	@command -v aarch64-linux-gnu-g++ > /dev/null || { echo 'needs the cross compiler: apt-get install g++-aarch64-linux-gnu'; exit 1; }
	@scripts/arm64.py -j $(JOBS)

clean:
	@rm -rf build
