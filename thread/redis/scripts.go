package redis

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"sync"

	rds "github.com/redis/go-redis/v9"
)

//go:embed scripts
var sources embed.FS

// use is how a script names a part that it needs; each is included once, before it.
const use = "--!use "

// script is a script with its source. Its method Load isn't for pipelines: there it
// takes the empty reply for the script's hash.
type script struct {
	*rds.Script
	source string
}

// scripts are the transitions and the reads that have to see one state, by name. They
// are made when a store is opened first: a server without Redis needs none.
var scripts = sync.OnceValue(func() map[string]script {
	all, err := loadScripts()
	if err != nil { // the files are part of the program
		panic(err)
	}
	return all
})

func loadScripts() (map[string]script, error) {
	files, err := fs.Glob(sources, "scripts/*.lua")
	if err != nil {
		return nil, err
	}
	read := library{}
	all := make(map[string]script, len(files))
	for _, file := range files {
		chunks, err := read.script(file, map[string]bool{})
		if err != nil {
			return nil, err
		}
		source := prune(chunks)
		all[strings.TrimSuffix(path.Base(file), ".lua")] = script{Script: rds.NewScript(source), source: source}
	}
	return all, nil
}

// library keeps what the files of the scripts consist of: parts are in many of them.
type library map[string]file

// file is the chunks of a file, behind the parts that it uses.
type file struct {
	uses   []string
	chunks []*chunk
}

// script lists the chunks of a file behind those of the parts that it uses and that seen hasn't.
func (l library) script(name string, seen map[string]bool) (chunks []*chunk, err error) {
	f, ok := l[name]
	if !ok {
		if f, err = readScript(name); err != nil {
			return nil, fmt.Errorf("redis: script %s: %w", name, err)
		}
		l[name] = f
	}
	for _, part := range f.uses {
		if seen[part] {
			continue
		}
		seen[part] = true
		more, err := l.script("scripts/lib/"+part+".lua", seen)
		if err != nil {
			return nil, err
		}
		chunks = append(chunks, more...)
	}
	return append(chunks, f.chunks...), nil
}

// readScript reads a file. Comments stay out.
func readScript(name string) (f file, err error) {
	source, err := sources.ReadFile(name)
	if err != nil {
		return f, err
	}
	var b strings.Builder
	for line := range strings.Lines(string(source)) {
		if part, ok := strings.CutPrefix(strings.TrimSpace(line), use); ok {
			f.uses = append(f.uses, part)
		} else if !strings.HasPrefix(line, "--") {
			b.WriteString(line)
		}
	}
	f.chunks, err = chunksOf(b.String())
	return f, err
}

// loadAll brings the scripts to the server, so that the first calls find them.
func (s *Store) loadAll(ctx context.Context) error {
	load := func(p rds.Pipeliner) error {
		for _, script := range scripts() {
			p.ScriptLoad(ctx, script.source)
		}
		return nil
	}
	if cluster, ok := s.client.(*rds.ClusterClient); ok {
		return cluster.ForEachMaster(ctx, func(ctx context.Context, c *rds.Client) error {
			_, err := c.Pipelined(ctx, load)
			return err
		})
	}
	_, err := s.client.Pipelined(ctx, load)
	return err
}

// eval runs a script; one that the server has forgotten is sent again.
func (s *Store) eval(ctx context.Context, name string, keys []string, args ...any) reply {
	value, err := scripts()[name].Run(ctx, s.client, keys, args...).Result()
	if err != nil {
		return reply{err: unavailable(fmt.Errorf("redis: %s: %w", name, err))}
	}
	return newReply(name, value)
}

// call is a script in a list of scripts that travel together.
type call struct {
	script string
	keys   []string
	args   []any
	reply  reply
}

// evalAll runs scripts in one round trip, each with an answer of its own. In a
// cluster those of different nodes run at the same time.
func (s *Store) evalAll(ctx context.Context, calls ...*call) error {
	_, err := s.evalBehind(ctx, func(rds.Pipeliner) {}, calls...)
	return err
}

// evalBehind is evalAll with commands before the scripts. Together says that all went over
// the same connection: there was no script that the server had forgotten.
func (s *Store) evalBehind(ctx context.Context, first func(rds.Pipeliner), calls ...*call) (together bool, err error) {
	if len(calls) == 0 {
		return true, nil
	}
	cmds := make([]*rds.Cmd, len(calls))
	_, err = s.client.Pipelined(ctx, func(p rds.Pipeliner) error {
		first(p)
		for i, c := range calls {
			cmds[i] = p.EvalSha(ctx, scripts()[c.script].Hash(), c.keys, c.args...)
		}
		return nil
	})
	if err == nil {
		for i, c := range calls {
			c.reply = newReply(c.script, cmds[i].Val())
		}
		return true, nil
	}
	together = true
	for i, c := range calls {
		value, failed := cmds[i].Result()
		switch {
		case failed == nil:
			c.reply = newReply(c.script, value)
		case rds.HasErrorPrefix(failed, "NOSCRIPT"):
			together = false
			if c.reply = s.eval(ctx, c.script, c.keys, c.args...); c.reply.err != nil {
				return false, c.reply.err
			}
		default:
			return false, unavailable(fmt.Errorf("redis: %s: %w", c.script, failed))
		}
	}
	return together, nil
}
