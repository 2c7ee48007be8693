package redis

// ACLCommands are the commands that a user of the store has to be allowed, in the
// words of Redis's ACL; its keys and channels all begin with Options.Prefix.
var ACLCommands = []string{
	// connection
	"hello", "auth", "ping", "select", "client|setname", "readonly", "cluster|slots", "cluster|shards", "cluster|nodes", "command",
	// checks and confirmations
	"info", "config|get", "time", "wait", "role",
	// scripts, and what they do
	"eval", "evalsha", "script|load",
	"hget", "hset", "hdel", "hmget", "hgetall", "hkeys", "hvals", "hlen", "hexists", "hsetnx", "hincrby",
	"hscan", "zadd", "zrem", "zscore", "zrange", "zrevrange", "zrangebyscore", "zrangebylex", "zrevrangebylex", "zlexcount",
	"xadd", "xrange", "xrevrange", "xdel", "xlen", "xtrim",
	"set", "exists", "del", "unlink", "pexpire", "publish",
	// the subscription
	"subscribe", "unsubscribe",
}
