package floors

import (
	"context"
	"fmt"
	"iter"
	"net/http/httptrace"
	"strings"
	"sync/atomic"
	"time"

	"connectrpc.com/connect"
	"github.com/zeebo/xxh3"

	"floors.example/go/floorsv1"
	"floors.example/go/floorsv1/floorsv1connect"
)

// builtInPack is the pack whose hash is 0.
const builtInPack = "tower"

// Client is a client of one floor server. Its methods may be called at the same time; the calls share one connection.
type Client struct {
	rpc     floorsv1connect.FloorServiceClient
	retries int
	timeout time.Duration
	// plain is whether the server is called without TLS.
	plain bool
	// reached is whether there ever was a connection.
	reached atomic.Bool
}

// New returns a client of the server at a URL such as http://127.0.0.1:50051 or https://floors.example. It does not
// connect; the first call does. The error says which option or part of the URL is wrong.
func New(server string, options ...Option) (*Client, error) {
	settings := defaults()
	for _, option := range options {
		option(&settings)
	}
	httpClient, base, err := settings.transport(server)
	if err != nil {
		return nil, err
	}
	rpc := floorsv1connect.NewFloorServiceClient(httpClient, base, settings.connectOptions()...)
	plain := strings.HasPrefix(base, "http:")
	return &Client{rpc: rpc, retries: settings.retries, timeout: settings.timeout, plain: plain}, nil
}

// Get returns one floor.
func (c *Client) Get(ctx context.Context, spec *floorsv1.FloorSpec, options ...CallOption) (*Floor, Served, error) {
	response, err := unary(ctx, c, c.rpc.GetFloor, &floorsv1.GetFloorRequest{Spec: spec}, options)
	if err != nil {
		return nil, Served{}, err
	}
	floor, err := requested(response.Msg, spec)
	return floor, servedFrom(response.Header()), err
}

// Batch returns floors in the order of their specs: all of them or an error.
func (c *Client) Batch(ctx context.Context, specs []*floorsv1.FloorSpec, options ...CallOption) ([]*Floor, Served, error) {
	response, err := unary(ctx, c, c.rpc.BatchGetFloors, &floorsv1.BatchGetFloorsRequest{Specs: specs}, options)
	if err != nil {
		return nil, Served{}, err
	}
	served := servedFrom(response.Header())
	if len(response.Msg.Floors) != len(specs) {
		return nil, served, invalid(ClassSpec, "%d floors for %d specs", len(response.Msg.Floors), len(specs))
	}
	floors := make([]*Floor, len(specs))
	for i, message := range response.Msg.Floors {
		if floors[i], err = requested(message, specs[i]); err != nil {
			return nil, served, fmt.Errorf("specs[%d]: %w", i, err)
		}
	}
	return floors, served, nil
}

// Stream returns count floors of one tower from first.Number on. The server sends no faster than the loop reads. A
// stream that breaks off, or in which no floor arrives in the time of [WithTimeout], is resumed at the floor that is
// missing. After an error the sequence ends. A deadline of ctx covers the whole stream.
func (c *Client) Stream(ctx context.Context, first *floorsv1.FloorSpec, count uint32, options ...CallOption) iter.Seq2[*Floor, error] {
	return func(yield func(*Floor, error) bool) {
		// Leaving the loop ends the call.
		ctx, cancel := context.WithCancel(c.noting(ctx))
		defer cancel()
		stream := &stream{client: c, next: cloneSpec(first), left: count, options: options, retries: c.attempts()}
		if c.timeout > 0 {
			stream.retries.deadline = time.Now().Add(c.timeout)
		}
		for {
			err := stream.read(ctx, yield)
			if err == nil {
				return
			}
			if !stream.retries.wait(ctx, err) {
				yield(nil, c.failed(err))
				return
			}
		}
	}
}

// ServerInfo returns the version, the limits and the tier statistics of the server.
func (c *Client) ServerInfo(ctx context.Context, options ...CallOption) (*floorsv1.ServerInfo, error) {
	response, err := unary(ctx, c, c.rpc.GetServerInfo, &floorsv1.GetServerInfoRequest{}, options)
	if err != nil {
		return nil, err
	}
	return response.Msg, nil
}

// Packs returns the packs that the server has, in all versions that it holds.
func (c *Client) Packs(ctx context.Context, options ...CallOption) ([]*floorsv1.PackInfo, error) {
	response, err := unary(ctx, c, c.rpc.ListPacks, &floorsv1.ListPacksRequest{}, options)
	if err != nil {
		return nil, err
	}
	return response.Msg.Packs, nil
}

// Pack returns the files of a pack: NAME, NAME@HASH, or "" for the server's default. Their hash is checked.
func (c *Client) Pack(ctx context.Context, name string, options ...CallOption) (*floorsv1.Pack, error) {
	response, err := unary(ctx, c, c.rpc.GetPack, &floorsv1.GetPackRequest{Pack: name}, options)
	if err != nil {
		return nil, err
	}
	if err := checkPack(response.Msg, name); err != nil {
		return nil, err
	}
	return response.Msg, nil
}

// StartClimb begins a climb of a sealed tower: its first floor, and the receipt that [Client.SubmitFloor] takes.
func (c *Client) StartClimb(
	ctx context.Context, request *floorsv1.StartClimbRequest, options ...CallOption,
) (*Revealed, Served, error) {
	response, err := unary(ctx, c, c.rpc.StartClimb, request, options)
	if err != nil {
		return nil, Served{}, err
	}
	asked := &floorsv1.FloorSpec{
		Number: 1, Width: request.GetWidth(), Height: request.GetHeight(), Pack: request.GetPack(),
	}
	floor, err := revealed(response.Msg, request.GetTower(), asked)
	return floor, servedFrom(response.Header()), err
}

// SubmitFloor returns the next floor of a climb for the acts, one byte each, that lead to the stairs of the floor that
// came with the receipt. [Violations] says which act is impossible. A receipt may be submitted again.
func (c *Client) SubmitFloor(
	ctx context.Context, receipt *floorsv1.Receipt, acts []byte, options ...CallOption,
) (*Revealed, Served, error) {
	before, err := decodeClimb(receipt)
	if err != nil {
		return nil, Served{}, err
	}
	request := &floorsv1.SubmitFloorRequest{Receipt: receipt, Acts: acts}
	response, err := unary(ctx, c, c.rpc.SubmitFloor, request, options)
	if err != nil {
		return nil, Served{}, err
	}
	floor, err := revealed(response.Msg, before.Tower, specOf(before, before.Floor+1))
	return floor, servedFrom(response.Header()), err
}

// Daily returns the sealed tower of the day.
func (c *Client) Daily(ctx context.Context, options ...CallOption) (*floorsv1.Daily, error) {
	response, err := unary(ctx, c, c.rpc.GetDaily, &floorsv1.GetDailyRequest{}, options)
	if err != nil {
		return nil, err
	}
	return response.Msg, nil
}

// unary makes a call with retries. The timeout covers all attempts and the waits between them.
func unary[Req, Res any](
	ctx context.Context, c *Client, call func(context.Context, *connect.Request[Req]) (*connect.Response[Res], error),
	message *Req, options []CallOption,
) (*connect.Response[Res], error) {
	if c.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.timeout)
		defer cancel()
	}
	ctx = c.noting(ctx)
	retries := c.attempts()
	for {
		request := connect.NewRequest(message)
		for _, option := range options {
			option(request.Header())
		}
		response, err := call(ctx, request)
		if err == nil {
			return response, nil
		}
		if !retries.wait(ctx, err) {
			return nil, c.failed(err)
		}
	}
}

// attempts are those of a call that begins now.
func (c *Client) attempts() retries {
	return retries{allowed: c.retries, reached: &c.reached, began: time.Now()}
}

// noting has the calls of a context note that there is a connection.
func (c *Client) noting(ctx context.Context) context.Context {
	connected := func(httptrace.GotConnInfo) { c.reached.Store(true) }
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: connected})
}

// requested checks that a floor is the one that spec names.
func requested(message *floorsv1.Floor, spec *floorsv1.FloorSpec) (*Floor, error) {
	floor, err := fromMessage(message)
	if err != nil {
		return nil, err
	}
	return floor, checkSpec(message.Spec, spec)
}

// checkPack checks that a pack is the one that was asked for, and its hash that of its files.
func checkPack(pack *floorsv1.Pack, asked string) error {
	builtIn := pack.Name == builtInPack && pack.Hash == 0
	if computed := xxh3.Hash(pack.File); !builtIn && computed != pack.Hash {
		return invalid(ClassHash, "the pack has the hash %016x, and its files %016x", pack.Hash, computed)
	}
	if resolved := fmt.Sprintf("%s@%016x", pack.Name, pack.Hash); asked != "" && asked != pack.Name && asked != resolved {
		return invalid(ClassSpec, "the server sent the pack %s instead of %s", resolved, asked)
	}
	return nil
}

func cloneSpec(spec *floorsv1.FloorSpec) *floorsv1.FloorSpec {
	return &floorsv1.FloorSpec{
		Seed: spec.GetSeed(), Number: spec.GetNumber(), Width: spec.GetWidth(), Height: spec.GetHeight(), Kind: spec.GetKind(),
		Pack: spec.GetPack(), View: spec.GetView(),
	}
}
