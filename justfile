# Short names for the commands of CONTRIBUTING.md. Everything works without just as well.

# List the recipes
default:
    @just --list

# Compile every crate, test and bench
check:
    cargo check --workspace --all-targets --all-features

# Run the tests, or those of one crate: just test -p floor-cache
test *args="--workspace":
    cargo test {{ args }}

# Check formatting, clippy and rustdoc, as .ci/run does
lint:
    .ci/run format clippy rustdoc

# Run the benches, or one of them: just bench tiers
bench *filter:
    cargo bench -- {{ filter }}

# Write everything anew that follows from floors or the .proto, or parts of it: just regenerate vectors viewer
regenerate *parts:
    .ci/regenerate {{ parts }}

# Run the release server end to end with floorctl
e2e:
    .ci/run programs end-to-end

# Run everything that CI runs; installs missing packages by apt-get, as root
ci:
    .ci/run

# Print how long README's two commands take from nothing
cold:
    .ci/cold
