package floors

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"floors.example/go/floorsv1"
)

// maxSeeds is the most towers of a call.
const maxSeeds = 1000

// Match is a floor that meets the condition of a search.
type Match struct {
	// Spec is resolved, for [Client.Get].
	Spec *floorsv1.FloorSpec
	// Name is what the floor is called, "" if it has no name.
	Name string
}

// Search returns the floors of a range that meet a condition such as `kind == cavern && loops > 4`, in order. Seeds may
// be any number of towers; with none the range is in the tower of First. A Limit above 0 ends the search after as many
// matches. Skip is that of the first call, which has 1,000 towers at most.
//
// The server searches no further than the loop reads: each call looks at a part of the range, and [WithTimeout] limits
// it alone. A deadline of ctx covers the whole search. After an error the sequence ends.
func (c *Client) Search(
	ctx context.Context, request *floorsv1.SearchFloorsRequest, options ...CallOption,
) iter.Seq2[*Match, error] {
	return func(yield func(*Match, error) bool) {
		next := &floorsv1.SearchFloorsRequest{
			First: cloneSpec(request.GetFirst()), Count: request.GetCount(), Condition: request.GetCondition(),
			Skip: request.GetSkip(), Limit: request.GetLimit(),
		}
		search := &search{client: c, options: options, request: next, later: slices.Clone(request.GetSeeds())}
		search.nextTowers()
		for !search.done {
			matches, err := search.call(ctx)
			if err != nil {
				yield(nil, err)
				return
			}
			for _, match := range matches {
				if !yield(match, nil) {
					return
				}
			}
		}
	}
}

// search is what is missing of a search, over all calls for it.
type search struct {
	client  *Client
	options []CallOption
	// request is the next call, unless the search is done.
	request *floorsv1.SearchFloorsRequest
	done    bool
	// later are the towers of later calls.
	later []uint64
}

// call returns the matches of the next call, and prepares the one after it.
func (s *search) call(ctx context.Context) ([]*Match, error) {
	response, err := unary(ctx, s.client, s.client.rpc.SearchFloors, s.request, s.options)
	if err != nil {
		return nil, err
	}
	matches := make([]*Match, len(response.Msg.Matches))
	for i, found := range response.Msg.Matches {
		if err := checkMatch(found.Spec, s.request); err != nil {
			return nil, fmt.Errorf("matches[%d]: %w", i, err)
		}
		matches[i] = &Match{Spec: found.Spec, Name: found.Name.GetText()}
	}
	if limit, found := s.request.Limit, uint32(len(matches)); limit != 0 {
		if found >= limit {
			s.done = true
			return matches[:limit], nil
		}
		s.request.Limit -= found
	}
	return matches, s.goOn(response.Msg.Next)
}

// goOn continues at next, which is 0 after the last floor of these towers.
func (s *search) goOn(next uint64) error {
	if next != 0 && next <= s.request.Skip {
		return invalid(ClassSpec, "the search goes on at %d, though it had skipped %d floors", next, s.request.Skip)
	}
	s.request.Skip = next
	if next == 0 {
		s.done = len(s.later) == 0
		s.nextTowers()
	}
	return nil
}

func (s *search) nextTowers() {
	towers := min(maxSeeds, len(s.later))
	s.request.Seeds, s.later = s.later[:towers], s.later[towers:]
}

// checkMatch checks that a match is one of the floors that asked names.
func checkMatch(got *floorsv1.FloorSpec, asked *floorsv1.SearchFloorsRequest) error {
	first, count := asked.First.Number, asked.Count
	switch {
	case got == nil:
		return invalid(ClassMissing, "it has no spec")
	case got.Number < first || got.Number-first >= count:
		return invalid(ClassSpec, "floor %d is none of the %d floors from %d on", got.Number, count, first)
	case len(asked.Seeds) > 0 && !slices.Contains(asked.Seeds, got.Seed):
		return invalid(ClassSpec, "its tower %d is none of those that were asked for", got.Seed)
	}
	spec := cloneSpec(asked.First)
	spec.Number = got.Number
	if len(asked.Seeds) > 0 {
		spec.Seed = got.Seed
	}
	return checkSpec(got, spec)
}
