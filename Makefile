# Postern for people; CMakeLists.txt holds the build itself. Everything lands in build/.
#
#   make          install missing packages, get a server to build for, build
#   make run      build, start a private server, ask for the same rows at its own port and at the SQL door
#   make stop     end that server
#   make check    the fast inner loop: layout, lint and unit tests; make lint ALL=1: also what includes the server's headers
#   make test     everything
#   make series   the tests that meet the server most, on MariaDB 11.8
#   make in-tree  the plugin built as a part of the server's own build; by hand, for it takes long
#   make bench    our doors beside their peers, in about a quarter of an hour; QUICK=1: in two minutes;
#                 ARGS='--all', ARGS='--only zipfian-50x1': what bench/run takes
#   make counts   instructions of the hot paths against bench/counts.txt; ACCEPT=1: write that anew
#   make soak     a server under load and every fault at once: MINUTES=30, SEED=N to give them in the same order again;
#                 CLUSTER=galera or CLUSTER=replicas: nodes that are killed, frozen and replaced, all doors on each
#   make fuzz     every fuzzer, with AddressSanitizer and UBSan, SECONDS=60 of one processor in all; they keep their findings;
#                 SEED=N to have them try the same inputs again, RUNS=N: no more than that many each
#   make asan     the tests that are hardest on memory, against the plugin built with AddressSanitizer
#   make install  build for the MariaDB server of this machine and put the plugin into it
#   make cli      the command-line tool, one file: build/postern
#   make site     the documentation as a site, its links checked: build/site/site/index.html
#   make package  a Debian package in build/ (SERVER=installed: for the server of this machine; SERVER=source: one that
#                 builds itself where it is installed, and again when the server there is updated)
#   make image    an image for containers, with docker, podman or buildah: Debian, its server, the package
#   make release  all that is published of a version, in build/release: packages for each series, an apt repository, the
#                 clients, sums, a bill of materials; ARGS='--twice', '--image': what tools/release takes
#   make contract the engine's promises, tested inside a server
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

.PHONY: contract series part in-tree all build deps server configure plugin run stop check unit tidy lint test for-integration \
  integration bench counts soak fuzz asan install cli site package image release clean distclean

all: build

deps:
	@tools/deps build

server: deps
	@tools/server $(if $(filter mysql,$(SERVER)),mysql,fetch) $(BUILD)/server

configure: server
	@cmake -S . -B $(BUILD) -G Ninja -DPOSTERN_SERVER_DIR=$(BUILD)/server -DCMAKE_BUILD_TYPE=$(BUILD_TYPE) \
	  -DPOSTERN_WERROR=ON -DPOSTERN_ROOMS_OF= --log-level=NOTICE $(CMAKE_ARGS)

build: configure
	@ninja -C $(BUILD)

# The plugin alone, without the tests: what running it needs.
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
	@ctest --test-dir $(BUILD) --output-on-failure -j "$$(nproc)" --timeout 120 --repeat until-pass:2 --progress

# What no compiler says: layout, arrows between rooms, words, sizes.
tidy:
	@tools/deps test
	@$(PYTHON) scripts/tidy.py

# Headers that do not compile alone, and clang-tidy's findings; only for files changed since they were last found clean.
lint: build
	@tools/deps test
	@ninja -C build all_verify_interface_header_sets
	@$(PYTHON) scripts/lint.py build $(if $(ALL),--all)

check: tidy unit lint

# Built quickly, for tests with another server: rooms that see no server are those of build/, if that is there.
QUICKLY = cmake -S . -B $(BUILD) -G Ninja -DPOSTERN_SERVER_DIR=$(BUILD)/server -DCMAKE_BUILD_TYPE=Release \
  -DCMAKE_CXX_FLAGS_RELEASE=-O1 -DPOSTERN_QUICK_BUILD=ON -DPOSTERN_ROOMS_OF=$(if $(wildcard build/$(PLUGIN)),build) \
  --log-level=NOTICE
ROOMS = $(if $(wildcard build/$(PLUGIN)),ninja -C build postern_rooms,true)

# What tests with a server use: of another series no more than that.
ifeq ($(SERIES),10.11)
for-integration: build
else
for-integration: server
	@tools/deps test
	@$(ROOMS)
	@$(QUICKLY)
	@ninja -C $(BUILD) postern_for_integration
endif

# What bounds a time runs alone; the rest side by side, a file at a time: most of it waits. What fails on a busy
# machine runs once more; the summary names it.
PYTEST := $(PYTHON) -m pytest tests -raR --timeout=300 -p no:cacheprovider
integration: for-integration
	@$(PYTEST:tests=$$(grep -rl pytest.mark.alone tests --include=test_*.py)) -m alone $(PYTEST_ARGS)
	@$(PYTEST) -m "not alone" -n "$$(($$(nproc) * 2 + 1))" --dist loadfile --reruns 1 $(PYTEST_ARGS)

# Tests whose SQL MySQL knows as well.
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

# What every `make test` does of that, with the plugin built quickly.
part:
	@tools/deps test
	@$(ROOMS)
	@$(QUICKLY)
	@ninja -C $(BUILD) $(PLUGIN) contract_test.so
	@tools/mysql contract $(BUILD)/contract
	@POSTERN_TEST_MYSQL=built $(PYTHON) -m pytest tests/integration/engine/test_mysql_doors.py -ra --timeout=300 \
	  -p no:cacheprovider $(PYTEST_ARGS)
else
# In this order also under -j: the last line is pytest's count. New seeds belong to `make fuzz`: a change
# should not fail for a fault that was there before, nor on a faster machine. The other servers are fetched while the
# compiler works; whoever needs one waits for that, and tries again where it failed. If no mirror has all of 11.8, or
# MySQL, tools/server says so, and nothing is tested on it.
test:
	@tools/deps test
	@tools/deps clients
	@$(MAKE) --no-print-directory server
	@(SERIES=11.8 tools/server fetch; tools/server mysql) >build/fetched.log 2>&1 &
	@$(MAKE) --no-print-directory check
	@$(MAKE) --no-print-directory counts
	@$(MAKE) --no-print-directory fuzz SEED=2010 RUNS=10000
	@SERIES=11.8 tools/server fetch || [ $$? = 3 ]
	@[ ! -f build-11.8/server/server.env ] || $(MAKE) --no-print-directory series SERIES=11.8
	@if tools/server mysql; then $(MAKE) --no-print-directory part SERVER=mysql; fi
	@$(MAKE) --no-print-directory integration
endif

# Tests that depend on the server's internals.
SERIES_TESTS := engine/test_series engine/test_contract engine/test_contention engine/test_ddl engine/test_privileges \
  engine/test_binlog engine/test_freshness door/test_accounts tools/test_mtr sql/test_planned_derived \
  sql/test_planned_later_series sql/test_planned_unions sql/test_planned_views
# And of a longer one, a part.
SERIES_PARTS := sql/test_planned_once.py::test_random_selects_are_answered_alike[answered]
ifeq ($(SERIES),10.11)
series:
	@$(MAKE) --no-print-directory series SERIES=11.8
else
series: for-integration
	@$(PYTHON) -m pytest $(SERIES_TESTS:%=tests/integration/%.py) $(SERIES_PARTS:%='tests/integration/%') -m "not alone" -ra --timeout=300 -p no:cacheprovider \
	  -n "$$(($$(nproc) + 1))" --dist loadfile $(PYTEST_ARGS)
endif

# Shows that Debian's server is the same to a plugin as the one configured here.
in-tree: server
	@library=$$(tools/in-tree | tee /dev/stderr | tail -n 1) && \
	  POSTERN_SO=$$library tools/demo $(BUILD)/in-tree/run && tools/sandbox stop $(BUILD)/in-tree/run

bench: build
	@tools/deps bench
	@bench/run $(if $(QUICK),--quick) $(ARGS)

# The build looks for files that the first line may install.
counts:
	@tools/deps counts
	@$(MAKE) --no-print-directory build
	@bench/counts.py $(if $(ACCEPT),--accept)

soak: plugin
	@tools/deps soak
	@PYTHONPATH=tests $(PYTHON) -m $(if $(CLUSTER),soak.clusters $(CLUSTER),soak.soak) --minutes $(MINUTES) $(if $(SEED),--seed $(SEED))

fuzz:
	@tools/deps test
	@cmake -S . -B build-fuzz -G Ninja -DPOSTERN_FUZZ=ON -DPOSTERN_TESTS=OFF -DPOSTERN_QUICK_BUILD=ON -DPOSTERN_SANITIZE=address,undefined \
	  -DCMAKE_CXX_COMPILER=clang++-14 -DCMAKE_BUILD_TYPE=RelWithDebInfo --log-level=NOTICE
	@ninja -C build-fuzz
	@scripts/fuzz build-fuzz $(SECONDS_ALL) $(or $(SEED),0) $(RUNS)

# The server is as it comes, so its own leaks are not looked for; the sanitizer's runtime has to be the first library.
# It keeps 8 MiB of freed memory and not 256, so that the tests which bound our memory hold under it, too.
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

# PyPI has its parts; the first time they are fetched.
cli: deps
	@tools/cli build

# So has PyPI what makes it.
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
