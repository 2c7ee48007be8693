package chaostest

import (
	"context"
	"net"
	"strconv"
	"time"

	rds "github.com/redis/go-redis/v9"
)

// reshard moves the slot of a thread, and one of a shard, to another master while
// they are in use.
func (w *world) reshard(ctx context.Context, f fault) {
	s := w.sessions[f.n%len(w.sessions)]
	w.reshardMu.Lock() // as redis-cli, one at a time
	defer w.reshardMu.Unlock()
	for _, key := range []string{"{" + s.thread + "}", w.prefix + "{" + strconv.Itoa(f.n%4) + "}:"} {
		w.must(w.moveSlot(ctx, key, f))
	}
}

func (w *world) moveSlot(ctx context.Context, key string, f fault) error {
	c := w.topo.client().(*rds.ClusterClient)
	defer c.Close() //nolint:errcheck // nothing is lost with it
	slot64, err := c.ClusterKeySlot(ctx, key).Result()
	if err != nil {
		return err
	}
	slot := int(slot64)
	var nodes []*rds.Client
	var ids []string
	for _, n := range w.topo.nodes {
		node := rds.NewClient(&rds.Options{Addr: n.Addr(), DisableIdentity: true})
		defer node.Close() //nolint:errcheck // nothing is lost with it
		id, err := node.ClusterMyID(ctx).Result()
		if err != nil {
			return err
		}
		nodes, ids = append(nodes, node), append(ids, id)
	}
	owner, err := c.MasterForKey(ctx, key)
	if err != nil {
		return err
	}
	from := 0
	for i, n := range w.topo.nodes {
		if owner.Options().Addr == n.Addr() {
			from = i
		}
	}
	to := (from + 1 + f.n%(len(nodes)-1)) % len(nodes)
	if err := nodes[to].Do(ctx, "CLUSTER", "SETSLOT", slot, "IMPORTING", ids[from]).Err(); err != nil {
		return err
	}
	if err := nodes[from].Do(ctx, "CLUSTER", "SETSLOT", slot, "MIGRATING", ids[to]).Err(); err != nil {
		return err
	}
	host, port, err := net.SplitHostPort(w.topo.nodes[to].Addr())
	if err != nil {
		return err
	}
	for {
		keys, err := nodes[from].ClusterGetKeysInSlot(ctx, slot, 2).Result()
		if err != nil {
			return err
		}
		if len(keys) == 0 {
			break
		}
		args := []any{"MIGRATE", host, port, "", 0, 5000, "KEYS"}
		for _, k := range keys {
			args = append(args, k)
		}
		if err := nodes[from].Do(ctx, args...).Err(); err != nil {
			return err
		}
		time.Sleep(f.lasts / 50) // clients meet a slot of which a part is here, and a part there
	}
	for _, i := range []int{to, from} {
		if err := nodes[i].Do(ctx, "CLUSTER", "SETSLOT", slot, "NODE", ids[to]).Err(); err != nil {
			return err
		}
	}
	for i, n := range nodes {
		if i != to && i != from {
			if err := n.Do(ctx, "CLUSTER", "SETSLOT", slot, "NODE", ids[to]).Err(); err != nil {
				return err
			}
		}
	}
	return nil
}
