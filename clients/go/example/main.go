// Prints a floor: go run ./example [SERVER]
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"floors.example/go"
	"floors.example/go/floorsv1"
)

func main() {
	server := "http://127.0.0.1:50051"
	if len(os.Args) > 1 {
		server = os.Args[1]
	}
	client, err := floors.New(server)
	if err != nil {
		log.Fatal(err)
	}
	floor, served, err := client.Get(context.Background(), &floorsv1.FloorSpec{Seed: 42, Number: 7})
	if err != nil {
		log.Fatal(err)
	}
	exit := floor.Message.Exit
	fmt.Println(len(floor.Message.Rooms), "rooms, exit at", exit.X, exit.Y, floor.TerrainAt(exit.X, exit.Y), "served by", served.By)
}
