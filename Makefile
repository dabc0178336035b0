# Targets for developers; CMakeLists.txt has the build itself. All results are in build/.
#
#   make          install missing packages, fetch a server to build for, build
#   make run      build, start a private server, read the same rows at its own port and at the SQL door
#   make stop     end that server
#   make check    the fast inner loop: layout, lint and unit tests; make lint ALL=1: and files with the server's headers
#   make test     everything
#   make series   the tests that depend most on the server, on MariaDB 11.8
#   make in-tree  the plugin built as a part of the server's own build; not in make test, because it takes long
#   make bench    our doors beside their peers, in about a quarter of an hour; QUICK=1: in two minutes;
#                 ARGS='--all', ARGS='--only zipfian-50x1': arguments of bench/run
#   make counts   instructions of the hot paths against bench/counts.txt; ACCEPT=1: write new ones
#   make soak     a server under load and every fault at once: MINUTES=30, SEED=N to repeat their order;
#                 CLUSTER=galera or CLUSTER=replicas: nodes that are killed, frozen and replaced, all doors on each
#   make fuzz     every fuzzer, with AddressSanitizer and UBSan, SECONDS=60 of one processor in all; findings are kept;
#                 SEED=N to repeat the same inputs, RUNS=N: at most N runs of each
#   make asan     the tests that stress memory most, against the plugin built with AddressSanitizer
#   make install  build for the MariaDB server of this machine and install the plugin into it
#   make cli      the command-line tool, one file: build/postern
#   make site     the documentation as a site, with checked links: build/site/site/index.html
#   make package  a Debian package in build/ (SERVER=installed: for the server of this machine; SERVER=source: one that
#                 builds itself where it is installed, and again when the server there is updated)
#   make image    an image for containers, with docker, podman or buildah: Debian, its server, the package
#   make release  all published files of a version, in build/release: packages for each series, an apt repository, the
#                 clients, sums, a bill of materials; ARGS='--twice', '--image': arguments of tools/release
#   make contract the engine's contract, tested inside a server
#   make clean    remove the build; make distclean: the private server, too
#
# make, run, stop, unit and integration take SERIES=11.8: for that series of MariaDB, in build-11.8/.
# plugin, run, stop, contract, test and package take SERVER=mysql: for MySQL 9.7, in build-mysql/; see docs/servers.md.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:

SERIES ?= 10.11
export SERIES
BUILD_TYPE ?= RelWithDebInfo
SERVER ?= fetched
BUILD := build$(if $(filter mysql,$(SERVER)),-mysql,$(if $(filter-out 10.11,$(SERIES)),-$(SERIES)))
PYTEST_ARGS ?=
SECONDS_ALL := $(if $(SECONDS),$(SECONDS),60)
MINUTES ?= 30

PYTHON := /usr/bin/python3
PLUGIN := src/plugin/postern.so
BUILD_fetched := $(BUILD)
BUILD_mysql := $(BUILD)
BUILD_installed := build-installed
SERVER_fetched := $(BUILD)/server
SERVER_mysql := $(BUILD)/server
SERVER_installed := build/server-installed

.PHONY: contract series part part-built part-tests in-tree all build deps server configure plugin run stop check unit tidy lint test for-integration \
  integration bench counts soak fuzz asan install cli site package image release clean distclean

all: build

deps:
	@tools/deps build

server: deps
	@tools/server $(if $(filter mysql,$(SERVER)),mysql,fetch) $(BUILD)/server

# TOGETHER=ON, which the build then keeps: compiles the files of each room together.
configure: server
	@cmake -S . -B $(BUILD) -G Ninja -DPOSTERN_SERVER_DIR=$(BUILD)/server -DCMAKE_BUILD_TYPE=$(BUILD_TYPE) \
	  -DPOSTERN_WERROR=ON -DPOSTERN_ROOMS_OF= --log-level=NOTICE $(TOGETHER:%=-DPOSTERN_QUICK_BUILD=%) $(CMAKE_ARGS)

build: configure
	@ninja -C $(BUILD)

# The plugin without its tests: enough to run it.
plugin: configure
	@ninja -C $(BUILD) $(PLUGIN)

ifeq ($(SERVER),mysql)
run: plugin
	@tools/mysql demo $(BUILD)/run

stop:
	@tools/mysql stop $(BUILD)/run

contract: plugin
	@tools/deps test
	@ninja -C $(BUILD) contract_test.so
	@tools/mysql contract $(BUILD)/contract
else
run:
	@[ -e $(BUILD)/$(PLUGIN) ] || echo "make run: fetches a server, builds the plugin (shown as [done/all]), and starts both:" \
	  "seven minutes of processor time, and 0.9 GB in $(BUILD)/. Nothing but packages is installed on this machine."
	@$(MAKE) --no-print-directory plugin
	@tools/demo $(BUILD)/run

stop:
	@tools/sandbox stop $(BUILD)/run

contract: plugin
	@tools/deps test
	@ninja -C $(BUILD) contract_test.so
	@$(PYTEST) -k test_the_engine_keeps_the_contract
endif

unit: build
	@ctest --test-dir $(BUILD) --output-on-failure -j "$$(($$(nproc) + 1))" --timeout 120 --repeat until-pass:2 --progress

# Checks beyond a compiler's: layout, arrows between rooms, words, sizes.
tidy:
	@tools/deps test
	@$(PYTHON) scripts/tidy.py

# Checks that headers compile alone, and runs clang-tidy; only on files changed since they were last found clean.
lint: build
	@tools/deps test
	@ninja -C build postern_lone_headers
	@$(PYTHON) scripts/lint.py build $(if $(ALL),--all)

check: tidy unit lint

# A fast build (-O1, files compiled together) for tests with another server. Rooms that see no server come from build/,
# if it exists.
QUICKLY = cmake -S . -B $(BUILD) -G Ninja -DPOSTERN_SERVER_DIR=$(BUILD)/server -DCMAKE_BUILD_TYPE=Release \
  -DCMAKE_CXX_FLAGS_RELEASE=-O1 -DPOSTERN_QUICK_BUILD=ON -DPOSTERN_ROOMS_OF=$(if $(wildcard build/$(PLUGIN)),build) \
  --log-level=NOTICE
ROOMS = $(if $(wildcard build/$(PLUGIN)),ninja -C build postern_rooms,true)

# The targets that tests with a server use; another series builds only these.
ifeq ($(SERIES),10.11)
for-integration: build
else
for-integration: server
	@tools/deps test
	@$(ROOMS)
	@$(QUICKLY)
	@ninja -C $(BUILD) postern_for_integration
endif

# Tests that bound a time run alone; the others in parallel, by file, because they mostly wait. Tests that fail on a
# busy machine run once more; the summary names them.
PYTEST := $(PYTHON) -m pytest tests -raR --timeout=300 -p no:cacheprovider
integration: for-integration
	@$(PYTEST:tests=$$(grep -rl pytest.mark.alone tests --include=test_*.py)) -m alone $(PYTEST_ARGS)
	@$(PYTEST) -m "not alone" -n "$$(($$(nproc) * 2 + 1))" --dist loadfile --reruns 1 $(PYTEST_ARGS)

# Tests with SQL that MySQL understands, too.
BOTH_SERVERS_TESTS := integration/handlersocket/test_vectors integration/memcached/test_memcached_conformance \
  integration/redis/test_redis_like_redis clients/test_memcached_suite clients/test_memcached_clients \
  clients/test_perl_client clients/test_clients
ifeq ($(SERVER),mysql)
test: contract
	@POSTERN_TEST_MYSQL=1 $(PYTHON) -m pytest tests/integration/engine/test_mysql*.py -ra --timeout=3000 \
	  -p no:cacheprovider -n 3 --dist loadfile $(PYTEST_ARGS)
	@tools/deps clients
	@POSTERN_TEST_ON=mysql $(PYTHON) -m pytest $(BOTH_SERVERS_TESTS:%=tests/%.py) -ra --timeout=300 -p no:cacheprovider \
	  -n 3 --dist loadfile $(PYTEST_ARGS)

# The part of them that every `make test` runs, with a fast build of the plugin.
part: part-built
	@$(MAKE) --no-print-directory part-tests

part-built:
	@tools/deps test
	@$(ROOMS)
	@$(QUICKLY)
	@ninja -C $(BUILD) $(PLUGIN) contract_test.so

part-tests:
	@tools/mysql contract $(BUILD)/contract
	@POSTERN_TEST_MYSQL=built $(PYTHON) -m pytest tests/integration/engine/test_mysql_doors.py -ra --timeout=300 \
	  -p no:cacheprovider $(PYTEST_ARGS)
else
# In this order also under -j: the last line is pytest's count. New seeds belong to `make fuzz`: a change
# should not fail for an older fault, nor on a faster machine. The clients and the other servers
# are fetched while the compiler works; tests that need them wait, and try again if that failed. From nothing it compiles each room's files
# together, which is less work; a build that is there stays as it was configured. If no mirror has 11.8 or MySQL completely, tools/server
# says so, and its tests are left out. Beside steps that mostly wait, others use the processors: their output follows.
TIMED := scripts/timed
test:
	@tools/deps test
	@mkdir -p build
	@$(PYTEST) --collect-only -q >/dev/null 2>&1 &  # so that Python compiles the tests once, not in each process
	@$(TIMED) server $(SHELL) $(.SHELLFLAGS) '$(MAKE) --no-print-directory tidy >build/tidy.log 2>&1 & tidied=$$!; \
	  $(MAKE) --no-print-directory server; wait $$tidied || { cat build/tidy.log; exit 1; }'
	@(tools/deps clients && tools/clients) >build/clients.log 2>&1 &
	@(SERIES=11.8 tools/server fetch; tools/server mysql) >build/fetched.log 2>&1 &
	@$(TIMED) build $(MAKE) --no-print-directory build $(if $(wildcard build/CMakeCache.txt),,TOGETHER=ON)
	@$(TIMED) unit $(MAKE) --no-print-directory unit
	@$(TIMED) lint $(MAKE) --no-print-directory lint
	@$(TIMED) counts $(MAKE) --no-print-directory counts
	@$(TIMED) fuzz $(MAKE) --no-print-directory fuzz SEED=2010 RUNS=10000
	@$(TIMED) clients tools/deps clients
	@SERIES=11.8 tools/server fetch || [ $$? = 3 ]
	@if tools/server mysql; then $(TIMED) part-built $(MAKE) --no-print-directory part-built SERVER=mysql; fi
	@[ ! -f build-11.8/server/server.env ] || $(TIMED) "for series" $(MAKE) --no-print-directory for-integration SERIES=11.8
	@: >build/part.log; [ ! -f build-mysql/$(PLUGIN) ] || $(MAKE) --no-print-directory part-tests SERVER=mysql >build/part.log 2>&1 & part=$$!; \
	  failed=; [ ! -f build-11.8/server/server.env ] || $(MAKE) --no-print-directory series SERIES=11.8 || failed=1; \
	  wait $$part || failed=1; cat build/part.log; [ -z "$$failed" ]
	@$(MAKE) --no-print-directory integration
endif

# Tests that depend on the server's internals.
SERIES_TESTS := engine/test_series engine/test_contract engine/test_contention engine/test_ddl engine/test_privileges \
  engine/test_binlog engine/test_freshness door/test_accounts tools/test_mtr sql/planned/test_planned_derived \
  sql/planned/test_planned_later_series sql/planned/test_planned_unions sql/planned/test_planned_views \
  sql/planned/test_rare_executions sql/writes/test_unflushed_commits sql/writes/test_writes_among_rows
# And parts of a longer one.
SERIES_PARTS := sql/planned/test_planned_once.py::test_random_selects_are_answered_alike[answered] \
  sql/planned/test_planned_once.py::test_random_sorts_are_answered_alike[answered] \
  sql/planned/test_planned_subqueries.py::test_subqueries_without_values_see_other_rows
ifeq ($(SERIES),10.11)
series:
	@$(MAKE) --no-print-directory series SERIES=11.8
else
series: for-integration
	@$(PYTHON) -m pytest $(SERIES_TESTS:%=tests/integration/%.py) $(SERIES_PARTS:%='tests/integration/%') -m "not alone" -ra --timeout=300 -p no:cacheprovider \
	  -n "$$(($$(nproc) + 1))" --dist loadfile $(PYTEST_ARGS)
endif

# Shows that a plugin cannot distinguish Debian's server from the one configured here.
in-tree: server
	@library=$$(tools/in-tree | tee /dev/stderr | tail -n 1) && \
	  POSTERN_SO=$$library tools/demo $(BUILD)/in-tree/run && tools/sandbox stop $(BUILD)/in-tree/run

bench: build
	@tools/deps bench
	@bench/run $(if $(QUICK),--quick) $(ARGS)

# The build needs files that the first line may install.
counts:
	@tools/deps counts
	@$(MAKE) --no-print-directory build
	@bench/counts.py $(if $(ACCEPT),--accept)

soak: plugin
	@tools/deps soak
	@PYTHONPATH=tests $(PYTHON) -m $(if $(CLUSTER),soak.clusters $(CLUSTER),soak.soak) --minutes $(MINUTES) $(if $(SEED),--seed $(SEED))

# For a few runs (RUNS) no optimisation: the compiler takes longer than they do.
fuzz:
	@tools/deps test
	@cmake -S . -B build-fuzz -G Ninja -DPOSTERN_FUZZ=ON -DPOSTERN_TESTS=OFF -DPOSTERN_QUICK_BUILD=ON -DPOSTERN_SANITIZE=address,undefined \
	  -DCMAKE_CXX_COMPILER=clang++-14 -DCMAKE_BUILD_TYPE=Release \
	  -DCMAKE_CXX_FLAGS_RELEASE='$(if $(RUNS),-O0,-O2) -g1' --log-level=NOTICE
	@ninja -C build-fuzz postern_fuzzers
	@scripts/fuzz build-fuzz $(SECONDS_ALL) $(or $(SEED),0) $(RUNS)

# The server is not instrumented, so leaks are not checked; the sanitizer's runtime has to be the first library. Its
# quarantine is 8 MiB, not 256, so that the tests that bound our memory pass, too.
ASAN_TESTS := vectors types keys ddl hostile watched lifecycle contention memcached memcached_mapping memcached_doors soak \
  redis_blocking redis_waiting redis_collections redis_hostile redis_like_redis redis_transactions hostile_packets prepare_writes \
  random_reads writes writes_amid_ddl planned_once planned_of_session planned_sums planned_derived planned_subqueries \
  planned_unions planned_privileges planned_locks planned_views literals user_variables write_lane ends change_user \
  in_place torture redis_scripts redis_random_scripts redis_functions
asan: server
	@tools/deps test
	@cmake -S . -B build-asan -G Ninja -DPOSTERN_SERVER_DIR=build/server -DPOSTERN_SANITIZE=address \
	  -DPOSTERN_TESTS=OFF -DPOSTERN_QUICK_BUILD=ON -DCMAKE_BUILD_TYPE=$(BUILD_TYPE) --log-level=NOTICE
	@ninja -C build-asan $(PLUGIN)
	@ASAN_OPTIONS=detect_leaks=0:quarantine_size_mb=8 POSTERN_SO=build-asan/$(PLUGIN) POSTERN_PRELOAD="$$(gcc -print-file-name=libasan.so)" \
	  $(PYTHON) -m pytest $(wildcard $(ASAN_TESTS:%=tests/integration/*/test_%.py)) -ra --timeout=300 -p no:cacheprovider $(PYTEST_ARGS)

$(BUILD_installed)/$(PLUGIN): FORCE
	@tools/deps install
	@tools/server installed $(SERVER_installed)
	@cmake -S . -B $(BUILD_installed) -G Ninja -DPOSTERN_SERVER_DIR=$(SERVER_installed) \
	  -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_FLAGS_RELEASE=-O2 -DPOSTERN_TESTS=OFF \
	  -DPOSTERN_QUICK_BUILD=ON --log-level=NOTICE
	@ninja -C $(BUILD_installed) $(PLUGIN) || \
	  { cmake -B $(BUILD_installed) -DPOSTERN_QUICK_BUILD=OFF && ninja -C $(BUILD_installed) $(PLUGIN); }

$(BUILD)/$(PLUGIN): plugin

.PHONY: FORCE
FORCE:

install: $(BUILD_installed)/$(PLUGIN)
	@DESTDIR="$(DESTDIR)" tools/install $(SERVER_installed) $(BUILD_installed)/$(PLUGIN)

# The first run fetches its parts from PyPI.
cli: deps
	@tools/cli build

# The first run fetches its programs from PyPI.
site:
	@tools/deps site
	@tools/site $(BUILD)/site

ifeq ($(SERVER),source)
package: deps
	@tools/package source build
else
package: deps $(BUILD_$(SERVER))/$(PLUGIN)
	@tools/package $(SERVER_$(SERVER)) $(BUILD_$(SERVER))/$(PLUGIN) build
endif

image:
	@tools/image

release: deps
	@tools/deps release
	@tools/release build/release $(ARGS)

clean:
	@if [ -d build-mysql/run ]; then tools/mysql stop build-mysql/run; fi
	@for run in build build-[0-9]*; do if [ -d "$$run/run" ]; then tools/sandbox stop "$$run/run"; fi; done
	@rm -rf build-installed build-asan build-fuzz
	@for build in build build-[0-9]* build-mysql; do \
	  if [ -d "$$build" ]; then find "$$build" -mindepth 1 -maxdepth 1 ! -name 'server*' -exec rm -rf {} +; fi; done

distclean: clean
	@rm -rf build build-[0-9]* build-mysql
