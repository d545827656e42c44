.PHONY: check generate fuzz soak bench oracle

TIME     ?= 30s
DURATION ?= 10m

check: ## all that CI runs; says what it left out where Java is missing
	bash .ci/run

generate: ## the Go code of the .proto files
	go generate ./...

fuzz: ## every fuzz target in turn, TIME each
	@go list ./... | while read pkg; do \
	  go test -list '^Fuzz' $$pkg | grep '^Fuzz' | while read target; do \
	    echo "== $$pkg $$target"; go test -run '^$$' -fuzz "^$$target$$" -fuzztime $(TIME) $$pkg || exit 1; \
	  done || exit 1; \
	done

soak: ## crashes at random moments for DURATION, seed printed
	go test -count=1 -timeout 0 -run '^TestSoak' ./minidfs ./cmd/minidfs -args -soak $(DURATION)

bench: ## the benchmarks of every package
	go test -run '^$$' -bench . -benchmem ./...

oracle: ## the conformance table and the shell script on minidfs and on a real Hadoop; exit 1 on any difference
	bash fixtures/oracle/compare.sh
