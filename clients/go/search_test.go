package floors

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"

	"floors.example/go/floorsv1"
)

func match(seed uint64, number uint32) *floorsv1.FloorMatch {
	return &floorsv1.FloorMatch{Spec: &floorsv1.FloorSpec{Seed: seed, Number: number, Width: 16, Height: 16}}
}

func answer(next uint64, matches ...*floorsv1.FloorMatch) *floorsv1.SearchFloorsResponse {
	return &floorsv1.SearchFloorsResponse{Matches: matches, Next: next}
}

// searched returns the matches as SEED/NUMBER, and the error that ended the search.
func searched(t *testing.T, client *Client, request *floorsv1.SearchFloorsRequest) ([]string, error) {
	t.Helper()
	var found []string
	var last error
	for match, err := range client.Search(t.Context(), request) {
		if last = err; err == nil {
			found = append(found, fmt.Sprintf("%d/%d", match.Spec.Seed, match.Spec.Number))
		}
	}
	return found, last
}

func TestASearchGoesOnPageByPageAndThousandTowersByThousand(t *testing.T) {
	service, server := serve(t, busy(time.Millisecond))
	service.answers = []*floorsv1.SearchFloorsResponse{
		answer(300, match(0, 1), match(2, 9)), answer(500), answer(0, match(999, 5)), answer(0, match(1000, 10)),
	}
	seeds := make([]uint64, 1001)
	for i := range seeds {
		seeds[i] = uint64(i)
	}
	request := &floorsv1.SearchFloorsRequest{First: first, Count: 10, Condition: "loops > 4", Seeds: seeds}
	found, err := searched(t, client(t, server.URL), request)
	if wants := []string{"0/1", "2/9", "999/5", "1000/10"}; err != nil || !slices.Equal(found, wants) {
		t.Errorf("%v, %v", found, err)
	}
	var calls []string
	for _, call := range service.searches {
		if call.First.Number != 1 || call.Count != 10 || call.Condition != "loops > 4" || call.Limit != 0 {
			t.Errorf("%v", call)
		}
		calls = append(calls, fmt.Sprintf("%d+%d skip %d", call.Seeds[0], len(call.Seeds), call.Skip))
	}
	wants := []string{"0+1000 skip 0", "0+1000 skip 300", "0+1000 skip 500", "1000+1 skip 0"}
	if !slices.Equal(calls, wants) {
		t.Errorf("%q", calls)
	}
}

func TestAMatchHasTheNameOfItsFloor(t *testing.T) {
	service, server := serve(t)
	named := match(0, 1)
	named.Name = &floorsv1.Text{Text: "The Deep"}
	service.answers = []*floorsv1.SearchFloorsResponse{answer(0, named, match(0, 2))}
	var names []string
	request := &floorsv1.SearchFloorsRequest{First: first, Count: 2, Condition: "loops > 4"}
	for match, err := range client(t, server.URL).Search(t.Context(), request) {
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, match.Name)
	}
	if !slices.Equal(names, []string{"The Deep", ""}) || len(service.searches[0].Seeds) != 0 {
		t.Errorf("%q, %v", names, service.searches)
	}
}

func TestALimitEndsASearch(t *testing.T) {
	service, server := serve(t)
	service.answers = []*floorsv1.SearchFloorsResponse{
		answer(4, match(0, 1), match(0, 2)), answer(8, match(0, 5), match(0, 6)),
	}
	request := &floorsv1.SearchFloorsRequest{First: first, Count: 10, Condition: "loops > 4", Limit: 3}
	found, err := searched(t, client(t, server.URL), request)
	if err != nil || !slices.Equal(found, []string{"0/1", "0/2", "0/5"}) {
		t.Errorf("%v, %v", found, err)
	}
	if calls := service.searches; len(calls) != 2 || calls[0].Limit != 3 || calls[1].Limit != 1 || request.Limit != 3 {
		t.Errorf("%v", calls)
	}
}

func TestLeavingASearchEndsIt(t *testing.T) {
	service, server := serve(t)
	service.answers = []*floorsv1.SearchFloorsResponse{answer(4, match(0, 1))}
	for range client(t, server.URL).Search(t.Context(), &floorsv1.SearchFloorsRequest{First: first, Count: 10}) {
		break
	}
	if len(service.searches) != 1 {
		t.Errorf("%v", service.searches)
	}
}

func TestASearchThatDoesNotGoOnIsRejected(t *testing.T) {
	service, server := serve(t)
	service.answers = []*floorsv1.SearchFloorsResponse{answer(4), answer(4, match(0, 5))}
	_, err := searched(t, client(t, server.URL), &floorsv1.SearchFloorsRequest{First: first, Count: 10})
	if classOf(err) != ClassSpec || !strings.Contains(err.Error(), "goes on at 4") || len(service.searches) != 2 {
		t.Errorf("%v after %d calls", err, len(service.searches))
	}
}

func TestAMatchThatWasNotAskedForIsRejected(t *testing.T) {
	asked := func(seeds ...uint64) *floorsv1.SearchFloorsRequest {
		first := &floorsv1.FloorSpec{Seed: 1, Number: 5, Width: 16}
		return &floorsv1.SearchFloorsRequest{First: first, Count: 10, Seeds: seeds}
	}
	player, wide := match(1, 5), match(1, 5)
	player.Spec.View = floorsv1.View_VIEW_PLAYER
	wide.Spec.Width = 17
	for _, wrong := range []struct {
		request *floorsv1.SearchFloorsRequest
		match   *floorsv1.FloorMatch
		class   Class
		says    string
	}{
		{asked(), match(1, 4), ClassSpec, "floor 4 is none of the 10 floors from 5 on"},
		{asked(), match(1, 15), ClassSpec, "floor 15 is none"},
		{asked(), match(2, 5), ClassSpec, "its seed is 2 instead of 1"},
		{asked(2, 3), match(1, 5), ClassSpec, "its tower 1 is none"},
		{asked(), player, ClassSpec, "its view is VIEW_PLAYER"},
		{asked(1), wide, ClassSpec, "its width is 17 instead of 16"},
		{asked(), new(floorsv1.FloorMatch), ClassMissing, "it has no spec"},
	} {
		service, server := serve(t)
		service.answers = []*floorsv1.SearchFloorsResponse{answer(0, wrong.match)}
		found, err := searched(t, client(t, server.URL), wrong.request)
		if len(found) != 0 || classOf(err) != wrong.class || !strings.Contains(err.Error(), wrong.says) {
			t.Errorf("%s: %v, %v", wrong.says, found, err)
		}
	}
}

func TestARefusedSearchEnds(t *testing.T) {
	service, server := serve(t, nil, connect.NewError(connect.CodeInvalidArgument, errors.New("condition")))
	service.answers = []*floorsv1.SearchFloorsResponse{answer(4, match(0, 1))}
	found, err := searched(t, client(t, server.URL), &floorsv1.SearchFloorsRequest{First: first, Count: 10})
	if len(found) != 1 || connect.CodeOf(err) != connect.CodeInvalidArgument {
		t.Errorf("%v, %v", found, err)
	}
}
