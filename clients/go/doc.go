// Package floors is a client of the floor server.
//
// A [Client] gets floors. It checks the content hash of each floor over the received bytes, decodes the grids and checks
// that the floor is the one that was asked for. It retries calls that the server refuses for now.
//
// The package [floors.example/go/floorsv1] has the messages.
package floors
