# What people type. CMake does the work (CMakePresets.json); this file installs what is missing and keeps the output short.

BUILD  := build/release
PREFIX ?= /usr/local
# A compiler newer than ours may warn of something new: that must not keep anybody from building.
CONFIGURE ?= -D CALQUE_WERROR=OFF
JOBS   ?= $(shell nproc 2>/dev/null || echo 2)

# $(call quietly,LOG,COMMAND): on a terminal the command as it is, else only its last lines and only when it fails.
quietly = if [ -t 1 ]; then $(2); else $(2) >$(1) 2>&1 || { tail -n 60 $(1); exit 1; }; fi

.PHONY: build demo test benchmarks install static deb wheel docs dependencies clean help
.DEFAULT_GOAL := build

build: ## build the library and the program
	@scripts/install-dependencies --check
	@$(MAKE) --no-print-directory compile

.PHONY: configure compile
configure:
	@mkdir -p $(BUILD)
	@[ -f $(BUILD)/build.ninja ] || cmake --preset release $(CONFIGURE) >$(BUILD)/configure.log 2>&1 || { cat $(BUILD)/configure.log; exit 1; }
compile: configure
	@echo "building in $(BUILD)"
	@$(call quietly,$(BUILD)/build.log,cmake --build $(BUILD) --parallel $(JOBS) $(if $(TARGET),--target $(TARGET)))

demo: dependencies ## install what is missing, build, and teach an English model five languages
	@$(MAKE) --no-print-directory compile TARGET=installed
	@$(BUILD)/calque demo

test: dependencies ## install what is missing, build, and run the tests
	@scripts/install-dependencies --tests
	@[ ! -f $(BUILD)/build.ninja ] || grep -q '^CMOCKA_FOUND:INTERNAL=1' $(BUILD)/CMakeCache.txt || cmake $(BUILD) >/dev/null
	@$(MAKE) --no-print-directory compile TARGET=tests
	@ctest --preset release --parallel $(JOBS) $(CTEST_OPTIONS)

benchmarks: ## build the programs in bench/ that measure, and run none
	@scripts/install-dependencies --check
	@$(MAKE) --no-print-directory compile TARGET=benchmarks

dependencies: ## install the Debian packages that are missing (asks sudo when not root)
	@scripts/install-dependencies

install: ## install to PREFIX (/usr/local), staged below DESTDIR; builds what is missing, no tests
	@scripts/install-dependencies --check
	@$(MAKE) --no-print-directory configure
	@cmake -D CMAKE_INSTALL_PREFIX=$(PREFIX) $(BUILD) >$(BUILD)/configure.log 2>&1 || { cat $(BUILD)/configure.log; exit 1; }
	@$(MAKE) --no-print-directory compile TARGET=installed
	@$(call quietly,$(BUILD)/install.log,cmake --install $(BUILD))
	@scripts/after-install $(BUILD) $(DESTDIR)

static: dependencies ## write build/static/calque-VERSION-ARCH-linux.tar.xz: one program without libraries (ARCH=aarch64: cross-built)
	@scripts/install-dependencies --wheel
	@scripts/make-static $(ARCH)

deb: dependencies ## write Debian packages to build/deb
	@scripts/make-deb

wheel: dependencies ## make the Python package with the library and the program inside: build/wheel (ARCH=aarch64: cross-built)
	@scripts/install-dependencies --wheel
	@[ "$(ARCH)" = aarch64 ] || $(MAKE) --no-print-directory compile TARGET=calque_program
	@scripts/make-wheel $(ARCH)

docs: ## write the library's reference: build/docs/html and build/docs/man
	@scripts/install-dependencies --docs
	@scripts/make-docs
	@echo "written to build/docs"

clean: ## remove everything that was built
	rm -rf build

help: ## show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
