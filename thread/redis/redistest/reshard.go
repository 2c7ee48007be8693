package redistest

import (
	"context"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	rds "github.com/redis/go-redis/v9"
)

// MoveSlot moves a key's slot to another of a cluster's masters, as redis-cli does: the nth
// behind its present one. A few keys move at a time; between is called after each few, when
// clients meet a slot of which a part is here and a part there.
func MoveSlot(ctx context.Context, masters []*Server, key string, n int, between func()) error {
	nodes, ids := make([]*rds.Client, len(masters)), make([]string, len(masters))
	for i, m := range masters {
		node := rds.NewClient(&rds.Options{Addr: m.Addr(), DisableIdentity: true})
		defer node.Close() //nolint:errcheck // nothing is lost with it
		id, err := node.ClusterMyID(ctx).Result()
		if err != nil {
			return fmt.Errorf("redistest: id of %s: %w", m.Addr(), err)
		}
		nodes[i], ids[i] = node, id
	}
	slot, from, err := ownerOf(ctx, nodes, key)
	if err != nil {
		return err
	}
	to := (from + 1 + n%(len(nodes)-1)) % len(nodes)
	if err := nodes[to].Do(ctx, "CLUSTER", "SETSLOT", slot, "IMPORTING", ids[from]).Err(); err != nil {
		return fmt.Errorf("redistest: import slot %d: %w", slot, err)
	}
	if err := nodes[from].Do(ctx, "CLUSTER", "SETSLOT", slot, "MIGRATING", ids[to]).Err(); err != nil {
		return fmt.Errorf("redistest: migrate slot %d: %w", slot, err)
	}
	if err := moveKeys(ctx, nodes[from], masters[to].Addr(), slot, between); err != nil {
		return err
	}
	order := []int{to, from}
	for i := range nodes {
		if i != to && i != from {
			order = append(order, i)
		}
	}
	for _, i := range order {
		if err := nodes[i].Do(ctx, "CLUSTER", "SETSLOT", slot, "NODE", ids[to]).Err(); err != nil {
			return fmt.Errorf("redistest: assign slot %d: %w", slot, err)
		}
	}
	return agree(ctx, nodes, slot, ids[to])
}

// agreeWithin bounds how long nodes may take until they agree about who has which slots.
const agreeWithin = 30 * time.Second

// agree waits until all nodes know the same slots and configuration epochs, and that a slot is the
// given node's. What is moved before may end with two masters of which each says that the other has it.
func agree(ctx context.Context, nodes []*rds.Client, slot int, owner string) error {
	for deadline := time.Now().Add(agreeWithin); ; {
		views, ours := map[string]bool{}, true
		for _, node := range nodes {
			list, err := node.ClusterNodes(ctx).Result()
			if err != nil {
				return fmt.Errorf("redistest: nodes of the cluster: %w", err)
			}
			view, has := viewOf(list, slot)
			views[view] = true
			if has == owner {
				continue
			}
			ours = false
			if err := node.Do(ctx, "CLUSTER", "SETSLOT", slot, "NODE", owner).Err(); err != nil {
				return fmt.Errorf("redistest: assign slot %d again: %w", slot, err)
			}
		}
		switch {
		case ours && len(views) == 1:
			return nil
		case time.Now().After(deadline):
			return fmt.Errorf("redistest: the nodes don't agree who has slot %d: %v", slot, slices.Collect(maps.Keys(views)))
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// viewOf is what a node's list of nodes says of epochs and slots, and the id of the one that has a slot.
func viewOf(list string, slot int) (view, owner string) {
	var lines []string
	for line := range strings.Lines(list) {
		words := strings.Fields(line) // id, address, flags, master, ping, pong, epoch, link, slots
		if len(words) < 8 {
			continue
		}
		known := []string{words[0], words[6]}
		for _, part := range words[8:] {
			if strings.HasPrefix(part, "[") { // on its way: only the node itself tells of it
				continue
			}
			known = append(known, part)
			first, last, found := strings.Cut(part, "-")
			if !found {
				last = first
			}
			a, _ := strconv.Atoi(first)
			if b, _ := strconv.Atoi(last); a <= slot && slot <= b {
				owner = words[0]
			}
		}
		lines = append(lines, strings.Join(known, " "))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n"), owner
}

// ownerOf is a key's slot and the index of the master that has it.
func ownerOf(ctx context.Context, nodes []*rds.Client, key string) (slot, owner int, err error) {
	n, err := nodes[0].ClusterKeySlot(ctx, key).Result()
	if err != nil {
		return 0, 0, fmt.Errorf("redistest: slot of %q: %w", key, err)
	}
	shards, err := nodes[0].ClusterShards(ctx).Result()
	if err != nil {
		return 0, 0, fmt.Errorf("redistest: owner of slot %d: %w", n, err)
	}
	for _, s := range shards {
		for _, r := range s.Slots {
			if n < r.Start || n > r.End {
				continue
			}
			for i, node := range nodes {
				for _, member := range s.Nodes {
					if member.Role == "master" && net.JoinHostPort(member.IP, fmt.Sprint(member.Port)) == node.Options().Addr {
						return int(n), i, nil
					}
				}
			}
		}
	}
	return 0, 0, fmt.Errorf("redistest: no master has slot %d", n)
}

func moveKeys(ctx context.Context, from *rds.Client, to string, slot int, between func()) error {
	host, port, err := net.SplitHostPort(to)
	if err != nil {
		return fmt.Errorf("redistest: address of a node: %w", err)
	}
	for {
		keys, err := from.ClusterGetKeysInSlot(ctx, slot, 2).Result()
		if err != nil {
			return fmt.Errorf("redistest: keys of slot %d: %w", slot, err)
		}
		if len(keys) == 0 {
			return nil
		}
		args := []any{"MIGRATE", host, port, "", 0, 5000, "KEYS"}
		for _, k := range keys {
			args = append(args, k)
		}
		if err := from.Do(ctx, args...).Err(); err != nil {
			return fmt.Errorf("redistest: move keys of slot %d: %w", slot, err)
		}
		between()
	}
}
