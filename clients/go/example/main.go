// Draws a floor: go run ./example [SERVER]
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"floors.example/go"
	"floors.example/go/floorsv1"
)

// glyphs has a character for each terrain; the last one is for those of newer servers.
const glyphs = ` #.+LS<>~}{:=",O?`

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
	for y := range floor.Height() {
		for x := range floor.Width() {
			fmt.Printf("%c", glyphs[min(int(floor.TerrainAt(x, y)), len(glyphs)-1)])
		}
		fmt.Println()
	}
	fmt.Println(floor.Name())
	fmt.Println(len(floor.Message.Rooms), "rooms,", len(floor.Spawns()), "monsters, served by", served.By)
}
