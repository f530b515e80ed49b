// The path is a reserved name, so that nobody else can publish under it; docs/clients/go.md says how to use the module.
module floors.example/go

go 1.24.0

require (
	connectrpc.com/connect v1.19.2
	github.com/zeebo/xxh3 v1.1.0
	golang.org/x/text v0.34.0
	google.golang.org/genproto/googleapis/rpc v0.0.0-20250825161204-c5933d9347a5
	google.golang.org/protobuf v1.36.9
)

require (
	github.com/klauspost/cpuid/v2 v2.2.10 // indirect
	golang.org/x/sys v0.30.0 // indirect
)
