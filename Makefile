# make help lists what can be done. Variables: PKG narrows tests, FUZZTIME and BENCH the runs that take long,
# SHARED the folder with the page sets and the scorer.
.DEFAULT_GOAL := help
SHELL := /bin/bash
PKG ?= ./...
FUZZTIME ?= 30s
BENCH ?= .
SHARED ?= ../shared

# --- every day ---------------------------------------------------------------------------------------

.PHONY: help
help: ## Show this list
	@awk -F ':.*## ' '/^# --- /{gsub(/^# --- | -+$$/,"");printf "\n%s\n",$$0} /^[a-z-]+:.*## /{printf "  %-15s %s\n",$$1,$$2}' $(MAKEFILE_LIST)

.PHONY: build
build: ## Build bin/webreader
	CGO_ENABLED=0 go build -trimpath -o bin/webreader ./cmd/webreader

.PHONY: test
test: ## Run all tests (SQLite; needs nothing but Go)
	go test $(PKG)

.PHONY: check
check: ## Everything CI runs; before each commit
	bash .ci/run

.PHONY: fmt
fmt: ## Format the Go files
	gofmt -w $$(git ls-files '*.go')

.PHONY: lint
lint: ## go vet and golangci-lint (the pinned one that make check builds, or yours)
	go vet $(PKG)
	PATH="$$(ls -d $${XDG_CACHE_HOME:-$$HOME/.cache}/webreader-ci/golangci-lint-* 2>/dev/null | tail -n 1):$$PATH" golangci-lint run --timeout 15m $(PKG)

.PHONY: generate
generate: ## Make the generated files anew
	go generate ./...

.PHONY: promises
promises: ## Run the promise tests
	go test -count=1 -run TestPromise ./internal/conformance

# --- now and then ------------------------------------------------------------------------------------

.PHONY: fuzz
fuzz: ## Fuzz every target for FUZZTIME each
	@bash .ci/fuzz $(FUZZTIME)

.PHONY: bench
bench: ## Run the benchmarks that BENCH names
	go test -run '^$$' -bench '$(BENCH)' -benchmem $(PKG)

.PHONY: bench-extract
bench-extract: build ## Quality (page sets in SHARED) and speed of the extractor against the baseline
	@SHARED='$(SHARED)' bash reader/extract/bench

.PHONY: train-extract
train-extract: ## Make the extractor's weights anew from the page sets in SHARED
	@SHARED='$(SHARED)' bash reader/extract/train

.PHONY: torture
torture: ## Kill and restart rounds, 50 instead of CI's 5; all towns
	WEBREADER_TORTURE=50 go test -count=1 -timeout 60m -run Torture $(PKG)
	go test -count=1 -timeout 60m -run 'TestPromise/S0[23]' ./internal/conformance -towns 43

.PHONY: race
race: ## The race detector everywhere, also where CI leaves it out; for a quiet hour
	go test -race -count=1 -timeout 60m $(PKG)

.PHONY: vuln
vuln: ## Look for known vulnerabilities, offline (docs/vulnerabilities.md has what is accepted)
	bash .ci/vuln

# --- what is shipped ---------------------------------------------------------------------------------

.PHONY: sdk-test
sdk-test: ## Generate the Go and TypeScript clients and call a live server with them
	@bash .ci/sdk-test

.PHONY: image-steps
image-steps: ## Run the Dockerfile's steps without an engine and try the result
	bash .ci/image-steps
