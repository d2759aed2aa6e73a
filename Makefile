# mod_kastats, mod_kapolicy and kaadvisor.  Everything built goes to build/.
#
#   make            build            make check       build and test
#   make deps       install needs    make check-asan  unit tests, sanitized
#                   (DEPS_MORE=1: and the peers of all tests)
#   make demo       the main job     make bench       speed, as ratios
#   make truth      predictions against a measured httpd
#   make install    DESTDIR, PREFIX  make fuzz        bounded fuzzing

BUILD  ?= build
PREFIX ?= /usr/local
PYTHON ?= /usr/bin/python3
CC     ?= cc
SAN    ?=
VERSION := 0.1.0

# ---- what must be there: command or file -> Debian package ------------------
DEPS := gcc make pkg-config apache2-bin apache2-dev libapr1-dev \
        libaprutil1-dev libarchive-dev libjansson-dev \
        libcurl4-openssl-dev libssl-dev libcmocka-dev \
        python3-pytest nghttp2-client bzip2 xz-utils zstd patch
# Peers of some tests, which else skip and say so: DEPS_MORE=1 asks for them.
MORE := prometheus python3-prometheus-client chromium chromium-driver \
        python3-selenium php8.2-fpm wrk valgrind parallel
WANTED = $(DEPS) $(if $(DEPS_MORE),$(MORE))
DEPS_MISSING = $(shell for p in $(WANTED); do \
        dpkg-query -W -f '$${db:Status-Abbrev}' $$p 2>/dev/null | \
        grep -q '^ii' || echo $$p; done)

# ---- flags ------------------------------------------------------------------
CFLAGS   ?= -O2 -g
WARN     := -Wall -Wextra -Werror
STD      := -std=c11 -D_GNU_SOURCE
SANFLAGS := $(if $(SAN),-fsanitize=$(SAN) -fno-omit-frame-pointer \
            -fno-sanitize-recover=all \
            $(if $(findstring thread,$(SAN)),-Wno-tsan))
APR_CFLAGS  = $(shell apr-1-config --includes --cppflags)
APR_LIBS    = $(shell apr-1-config --link-ld --libs)
HTTPD_CFLAGS = -I$(shell apxs -q INCLUDEDIR) \
              $(shell apu-1-config --includes)
ADV_CFLAGS  = $(shell pkg-config --cflags libarchive jansson \
              libcurl)
# libcurl is loaded when a URL is asked for (sources/curl_late.h).
ADV_LIBS    = $(shell pkg-config --libs libarchive jansson) -ldl \
              -lm -lpthread
# One line a file; V=1 shows the commands.
Q    := $(if $(V),,@)
SAY   = $(if $(V),@:,@echo "  $(1)  $@")
JOBS := -j$(shell nproc 2>/dev/null || echo 1)
BASE_CFLAGS = $(STD) $(CFLAGS) $(WARN) $(SANFLAGS) -MMD -MP

# ---- lists ------------------------------------------------------------------
CORE_SRC := $(wildcard modules/core/*.c)
ADV_SRC  := $(wildcard advisor/*.c advisor/*/*.c)
UNIT_SRC := $(wildcard test/unit/test_*.c)
KASTATS_SRC := $(wildcard modules/kastats/*.c)
KAPOLICY_SRC := $(wildcard modules/kapolicy/*.c)
TRUTH_SRC := $(wildcard test/truth/*.c)

CORE_OBJ := $(CORE_SRC:%.c=$(BUILD)/%.o)
ADV_OBJ  := $(ADV_SRC:%.c=$(BUILD)/%.o)
LIB_OBJ  := $(CORE_OBJ) $(filter-out $(BUILD)/advisor/main.o,$(ADV_OBJ))
UNIT_BIN := $(UNIT_SRC:%.c=$(BUILD)/%)
KASTATS_OBJ := $(KASTATS_SRC:%.c=$(BUILD)/%.o)
KAPOLICY_OBJ := $(KAPOLICY_SRC:%.c=$(BUILD)/%.o)
TRUTH_OBJ := $(TRUTH_SRC:%.c=$(BUILD)/%.o)
VISITORS := $(BUILD)/test/truth/visitors
MODULES  := $(BUILD)/mod_kastats.so $(BUILD)/mod_kapolicy.so

.PHONY: all unit deps demo check check-unit check-e2e check-asan check-load \
        bench bench-connections races truth fuzz install uninstall clean
.SECONDARY:

all: $(BUILD)/kaadvisor $(MODULES)

$(BUILD)/kaadvisor: $(ADV_OBJ) $(CORE_OBJ)
	$(call SAY,LD)
	$(Q)$(CC) $(SANFLAGS) -o $@ $^ $(APR_LIBS) $(ADV_LIBS)

$(BUILD)/mod_kastats.so: $(KASTATS_OBJ) $(CORE_OBJ)
$(BUILD)/mod_kapolicy.so: $(KAPOLICY_OBJ) $(CORE_OBJ)
$(BUILD)/mod_%.so:
	$(call SAY,LD)
	$(Q)$(CC) $(SANFLAGS) -shared -o $@ $^

# Only modules/<module>/ sees httpd's headers, and what another module offers.
$(KASTATS_OBJ) $(KAPOLICY_OBJ): $(BUILD)/%.o: %.c
	@mkdir -p $(@D)
	$(call SAY,CC)
	$(Q)$(CC) $(BASE_CFLAGS) $(APR_CFLAGS) $(HTTPD_CFLAGS) -Imodules/core \
	    -Imodules/kapolicy -DKA_VERSION='"$(VERSION)"' -fPIC \
	    -fvisibility=hidden -c -o $@ $<

# Core and advisor get no httpd include path: a slip does not compile.  Core's
# symbols are hidden, or two modules in one server would share them.
$(BUILD)/modules/core/%.o: modules/core/%.c
	@mkdir -p $(@D)
	$(call SAY,CC)
	$(Q)$(CC) $(BASE_CFLAGS) $(APR_CFLAGS) -fPIC -fvisibility=hidden -c \
	    -o $@ $<

$(BUILD)/advisor/%.o: advisor/%.c
	@mkdir -p $(@D)
	$(call SAY,CC)
	$(Q)$(CC) $(BASE_CFLAGS) $(APR_CFLAGS) $(ADV_CFLAGS) \
	    -DKA_VERSION='"$(VERSION)"' -Imodules/core -Iadvisor -c -o $@ $<

$(BUILD)/test/unit/%.o: test/unit/%.c
	@mkdir -p $(@D)
	$(call SAY,CC)
	$(Q)$(CC) $(BASE_CFLAGS) $(APR_CFLAGS) $(ADV_CFLAGS) \
	    -Imodules/core -Iadvisor -c -o $@ $<

# A test takes what it needs: a hundred of them link all of it no faster than
# one.  Made anew, or objects of files that are gone would stay in it.
$(BUILD)/libka.a: $(LIB_OBJ)
	$(call SAY,AR)
	$(Q)rm -f $@ && ar rcsT $@ $^

$(BUILD)/test/unit/test_%: $(BUILD)/test/unit/test_%.o $(BUILD)/libka.a
	$(call SAY,LD)
	$(Q)$(CC) $(SANFLAGS) -o $@ $^ $(APR_LIBS) $(ADV_LIBS) -lcmocka

# The visitors that predictions are measured with: neither core nor advisor.
$(BUILD)/test/truth/%.o: test/truth/%.c
	@mkdir -p $(@D)
	$(call SAY,CC)
	$(Q)$(CC) $(BASE_CFLAGS) -c -o $@ $<

$(VISITORS): $(TRUTH_OBJ)
	$(call SAY,LD)
	$(Q)$(CC) $(SANFLAGS) -o $@ $^ -lssl -lcrypto

# ---- targets ----------------------------------------------------------------
deps:
	@missing="$(strip $(DEPS_MISSING))"; \
	if [ -z "$$missing" ]; then exit 0; fi; \
	if [ "$$(id -u)" = 0 ]; then \
	    echo "Installing: $$missing" && \
	    apt-get update -qq && DEBIAN_FRONTEND=noninteractive \
	    apt-get install -y -qq --no-install-recommends $$missing; \
	else \
	    echo "Missing packages. Run this, then try again:" >&2; \
	    echo "  sudo apt-get install -y $$missing" >&2; exit 1; \
	fi

# The packages may have just come: a new make sees their flags.
check: deps
	@$(MAKE) --no-print-directory $(JOBS) all unit
	@$(MAKE) --no-print-directory check-unit check-e2e

unit: $(UNIT_BIN)

check-unit: $(UNIT_BIN)
	@printf '%s\n' $(sort $(UNIT_BIN)) | \
	xargs -n 1 -P $(JOBS:-j%=%) sh -c 'said=$$("$$0" 2>&1); failed=$$?; \
	    printf "== %s\n%s\n" "$$0" "$$said"; exit $$((failed != 0))'

# Three runs side by side, of about the same time: mod_kastats; mod_kapolicy and
# tests with peers of their own (Prometheus, the demo); the command.  The first
# two wait most of the time.  With --last-failed a run may have nothing to do
# (status 5).
E2E_ALL     = $(sort $(wildcard test/e2e/test_*.py))
E2E_kastats = $(filter test/e2e/test_1%,$(E2E_ALL))
E2E_others  = $(filter test/e2e/test_36% test/e2e/test_39% test/e2e/test_6%,\
                $(E2E_ALL))
E2E_command = $(filter-out $(E2E_kastats) $(E2E_others),$(E2E_ALL))

check-e2e: all $(VISITORS)
	@run() { \
	    name=$$1; shift; \
	    KA_BUILD=$(BUILD) $(PYTHON) -B -m pytest -q $(E2E) \
	        -o cache_dir=$(abspath $(BUILD))/pytest-$$name "$$@"; \
	    status=$$?; [ $$status = 0 ] || [ $$status = 5 ]; \
	}; \
	run kastats $(E2E_kastats) >$(BUILD)/e2e-kastats.log 2>&1 & kastats=$$!; \
	run others $(E2E_others) >$(BUILD)/e2e-others.log 2>&1 & others=$$!; \
	failed=0; \
	echo "== end-to-end tests: the command, and beside it the others"; \
	run command $(E2E_command) || failed=1; \
	wait $$others || failed=1; \
	wait $$kastats || failed=1; \
	for name in others kastats; do \
	    echo "== end-to-end tests: $$name"; cat $(BUILD)/e2e-$$name.log; \
	done; exit $$failed

check-asan: deps
	@$(MAKE) --no-print-directory $(JOBS) BUILD=$(BUILD)/asan CFLAGS='-O1 -g1' \
	    SAN=address,undefined all unit
	@$(MAKE) --no-print-directory BUILD=$(BUILD)/asan CFLAGS='-O1 -g1' \
	    SAN=address,undefined check-unit

# ---- the main job: from a log that comes along, and live; a minute ----------
demo: deps
	@$(MAKE) --no-print-directory $(JOBS) all
	@BUILD=$(BUILD) PYTHON=$(PYTHON) sh test/demo.sh

bench: deps
	@$(MAKE) --no-print-directory $(JOBS) all
	@KA_BUILD=$(BUILD) $(PYTHON) -B test/bench/logs.py
	@KA_BUILD=$(BUILD) $(PYTHON) -B test/bench/instructions.py
	@KA_BUILD=$(BUILD) $(PYTHON) -B test/bench/throughput.py

# 100,000 connections open at once on event; minutes.
bench-connections: deps
	@$(MAKE) --no-print-directory $(JOBS) all
	@KA_BUILD=$(BUILD) $(PYTHON) -B test/bench/open_connections.py

# mod_kastats under the thread sanitizer, in worker and event.
races: deps
	@KA_BUILD=$(BUILD) $(PYTHON) -B test/bench/races.py \
	    --build $(abspath $(BUILD))/tsan

# Predictions against a measured httpd: a quarter of an hour; writes the tables.
truth: deps
	@$(MAKE) --no-print-directory $(JOBS) all $(VISITORS)
	@KA_BUILD=$(BUILD) $(PYTHON) -B test/truth/truth.py \
	    --write test/truth/RESULTS.md --rounds $(BUILD)/truth.json

# 10,000 mixed connections under each MPM: sums equal the clients' own.
check-load: deps
	@$(MAKE) --no-print-directory $(JOBS) all
	KA_BUILD=$(BUILD) KA_CONNECTIONS=10000 $(PYTHON) -B -m pytest -q -p no:cacheprovider \
	    test/e2e/test_130_load.py

# ---- bounded fuzzing: FUZZ_SECONDS for each target --------------------------
FUZZ_SECONDS ?= 60
FUZZ_SRC := $(wildcard test/fuzz/fuzz_*.c)
FUZZ_BIN := $(FUZZ_SRC:%.c=$(BUILD)/fuzz/%)
FUZZ_OBJ := $(LIB_OBJ:$(BUILD)/%=$(BUILD)/fuzz/%)
FUZZ_CC   = clang $(STD) -O1 -g -MMD -MP -fno-sanitize-recover=all \
            -DKA_VERSION='"$(VERSION)"' $(APR_CFLAGS) $(ADV_CFLAGS) \
            -Imodules/core -Iadvisor

$(BUILD)/fuzz/%.o: %.c
	@mkdir -p $(@D)
	$(call SAY,CC)
	$(Q)$(FUZZ_CC) -fsanitize=fuzzer-no-link,address,undefined -c -o $@ $<

$(BUILD)/fuzz/libka.a: $(FUZZ_OBJ)
	$(call SAY,AR)
	$(Q)rm -f $@ && ar rcsT $@ $^

$(BUILD)/fuzz/test/fuzz/fuzz_%: $(BUILD)/fuzz/test/fuzz/fuzz_%.o \
                                $(BUILD)/fuzz/libka.a
	$(call SAY,LD)
	$(Q)$(FUZZ_CC) -fsanitize=fuzzer,address,undefined -o $@ $^ \
	    $(APR_LIBS) $(ADV_LIBS)

fuzz: deps
	@command -v clang >/dev/null || { echo "make fuzz needs clang and" \
	    "libclang-rt-14-dev (apt-get install)" >&2; exit 1; }
	@$(MAKE) --no-print-directory $(JOBS) $(FUZZ_BIN)
	@for f in $(FUZZ_BIN); do \
	    c=$(BUILD)/fuzz/corpus/$$(basename $$f); mkdir -p $$c; \
	    echo "== $$f, $(FUZZ_SECONDS) s"; \
	    $$f -max_total_time=$(FUZZ_SECONDS) -timeout=10 -rss_limit_mb=2048 \
	        -verbosity=0 -print_final_stats=1 \
	        -artifact_prefix=$(BUILD)/fuzz/ $$c || exit 1; \
	done

# ---- installation -----------------------------------------------------------
INSTALL   = install
LIBEXEC   = $(shell apxs -q LIBEXECDIR)
DOCDIR    = $(PREFIX)/share/doc/kaadvisor

install: all
	$(INSTALL) -D -m 0755 $(BUILD)/kaadvisor \
	    $(DESTDIR)$(PREFIX)/bin/kaadvisor
	$(INSTALL) -d $(DESTDIR)$(DOCDIR)
	$(INSTALL) -m 0644 README.md LICENSE $(wildcard conf-samples/*) \
	    $(DESTDIR)$(DOCDIR)
	@for m in $(MODULES); do \
	    echo "$(INSTALL) $$m $(DESTDIR)$(LIBEXEC)"; \
	    $(INSTALL) -D -m 0644 $$m \
	        $(DESTDIR)$(LIBEXEC)/$$(basename $$m) || exit 1; done

uninstall:
	rm -f $(DESTDIR)$(PREFIX)/bin/kaadvisor
	rm -rf $(DESTDIR)$(DOCDIR)
	@for m in $(MODULES); do \
	    rm -f $(DESTDIR)$(LIBEXEC)/$$(basename $$m); done

clean:
	rm -rf $(BUILD)

-include $(CORE_OBJ:.o=.d) $(ADV_OBJ:.o=.d) $(UNIT_BIN:=.d) \
         $(KASTATS_OBJ:.o=.d) $(KAPOLICY_OBJ:.o=.d) $(FUZZ_OBJ:.o=.d) \
         $(TRUTH_OBJ:.o=.d)
