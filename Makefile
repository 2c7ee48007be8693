# Everything a contributor runs. `make test` is what CI runs.
GO      ?= go
BIN     := bin/parley
FUZZ    ?= 60s
LINT    := github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
SDKTEST := server/sdktest
HOOKTEST := server/hooktest
MODELTEST := agent/model/openai/mocktest
MCPTEST := server/mcptest
OIDCTEST := server/oidctest
# One set of flags for all but the race detector, so that large dependencies are compiled once.
PLAIN   := CGO_ENABLED=0 GOFLAGS=-trimpath

.PHONY: vuln build test test-go test-sdk test-models test-mcp test-oidc test-hooks test-web test-deploy chaos lint bench fuzz clean

build:
	$(PLAIN) $(GO) build -ldflags "-s -w" -o $(BIN) ./cmd/parley

# All tests. Parts whose tools are missing say what to install and are skipped alone.
test: test-go test-sdk test-models test-mcp test-oidc test-hooks test-web

test-go:
	$(PLAIN) $(GO) vet ./...
	@if command -v "$$($(GO) env CC | cut -d' ' -f1)" >/dev/null 2>&1; then set -x; $(GO) test -race -timeout 15m ./...; \
	else echo "without the race detector: it needs a C compiler (Debian: apt-get install gcc)"; set -x; $(PLAIN) $(GO) test -timeout 15m ./...; fi

# The real JavaScript and Python SDKs against a real server.
test-sdk: build
	$(PLAIN) ./$(SDKTEST)/run

# The model adapter against independent servers of OpenAI's wire format.
test-models:
	$(PLAIN) ./$(MODELTEST)/run

# MCP servers from npm as tools, and Parley's own MCP server under npm's inspector.
test-mcp:
	$(PLAIN) ./$(MCPTEST)/run

# Signing in with npm's oidc-provider.
test-oidc:
	$(PLAIN) ./$(OIDCTEST)/run

# The published frontend packages in a real browser against a real server.
test-hooks: build
	$(PLAIN) ./$(HOOKTEST)/run

# The web app: its build is the one that is committed, and people get with it what they want.
test-web: build
	./web/check
	./web/test/run

# The files of deployments, as Docker's, Compose's and Kubernetes' own libraries read
# them; what they need stays out of Parley's module, and out of `make test`: it compiles for minutes.
test-deploy:
	cd deploy/lint && $(PLAIN) $(GO) test ./...

# Replicas that are killed, paused and cut off under clients (server/chaostest/doc.go): SEEDS seeds
# from SEED on, PARALLEL at a time. `make test` tries a handful.
SEED     ?= 1
SEEDS    ?= 1000
PARALLEL ?= 4
chaos:
	PARLEY_CHAOS_SEED=$(SEED) PARLEY_CHAOS_SEEDS=$(SEEDS) PARLEY_CHAOS_PARALLEL=$(PARALLEL) \
	$(PLAIN) $(GO) test -v -timeout 0 -run TestChaos ./server/chaostest

lint:
	@test -z "$$(gofmt -l .)" || { gofmt -l .; echo "run gofmt -w"; exit 1; }
	$(PLAIN) $(GO) vet ./...
	@if command -v golangci-lint >/dev/null 2>&1; then $(PLAIN) golangci-lint run --allow-parallel-runners ./...; \
	else $(GO) run $(LINT) run --allow-parallel-runners ./...; fi

# Known holes of the Go version and of dependencies, as far as our code reaches them.
vuln:
	$(GO) run golang.org/x/vuln/cmd/govulncheck@v1.9.0 ./...

# Benchmarks of the hot paths.
bench:
	$(GO) test -run '^$$' -bench . -benchmem ./agent/... ./thread/... ./stream/...

# Every fuzz target in turn, FUZZ long each; new inputs go to testdata/fuzz.
fuzz:
	@set -e; for pkg in $$($(GO) list ./...); do \
	  for f in $$($(GO) test -list '^Fuzz' $$pkg 2>/dev/null | grep '^Fuzz' || true); do \
	    echo "== $$pkg $$f"; $(GO) test -run '^$$' -fuzz "^$$f$$" -fuzztime $(FUZZ) $$pkg; \
	  done; done

clean:
	rm -rf bin .parley
