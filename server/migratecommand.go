package server

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/parley-dev/parley/thread/local"
	"github.com/parley-dev/parley/thread/redis"
	"github.com/parley-dev/parley/thread/transfer"
)

// storeFlags say where data lies.
type storeFlags struct {
	Data  string `help:"Directory of local data. Default: ${data}." type:"path" env:"PARLEY_DATA"`
	Redis string `help:"URL of the Redis." env:"PARLEY_REDIS" placeholder:"URL"`
}

// migrateCommand copies everything from one store to another.
type migrateCommand struct {
	From string `required:"" help:"Where the data is: local, redis, local:DIR, a Redis URL, or file:PATH."`
	To   string `required:"" help:"Where it shall be; that place must be empty."`
	storeFlags
}

// Run implements the command.
func (cmd migrateCommand) Run(env *environment) error {
	return cmd.copy(env, cmd.From, cmd.To)
}

// backupCommand copies everything to a file.
type backupCommand struct {
	File string `arg:"" help:"File to write; it must not exist."`
	storeFlags
}

// Run implements the command.
func (cmd backupCommand) Run(env *environment) error {
	return cmd.copy(env, cmd.place(), filePlace+cmd.File)
}

// restoreCommand copies everything from a file.
type restoreCommand struct {
	File string `arg:"" help:"File that backup has written." type:"existingfile"`
	storeFlags
}

// Run implements the command.
func (cmd restoreCommand) Run(env *environment) error {
	return cmd.copy(env, filePlace+cmd.File, cmd.place())
}

// The names of places.
const (
	localName  = "local"
	redisName  = "redis"
	localPlace = "local:"
	filePlace  = "file:"
)

// place is where serve would keep its data with these flags.
func (f storeFlags) place() string {
	if f.Redis != "" {
		return redisName
	}
	return localName
}

// copy copies from one place to another, and says what.
func (f storeFlags) copy(env *environment, from, to string) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	source, closeSource, err := f.open(ctx, env, from, false)
	if err != nil {
		return fmt.Errorf("%s: %w", hidePassword(from), err)
	}
	target, closeTarget, err := f.open(ctx, env, to, true)
	if err != nil {
		return errors.Join(fmt.Errorf("%s: %w", hidePassword(to), err), closeSource())
	}
	copied, err := transfer.Copy(ctx, source, target)
	if err = errors.Join(err, closeTarget(), closeSource()); err != nil {
		return err
	}
	_, err = fmt.Fprintf(env.stdout, "Copied from %s to %s, read back and found equal: %s\n", hidePassword(from), hidePassword(to), copied)
	return err
}

// open opens a place. A target may be one that an earlier copy has left unfinished.
func (f storeFlags) open(ctx context.Context, env *environment, place string, target bool) (transfer.Target, func() error, error) {
	switch {
	case strings.HasPrefix(place, filePlace):
		return transfer.NewFile(strings.TrimPrefix(place, filePlace)), func() error { return nil }, nil
	case place == localName:
		dir := f.Data
		if dir == "" {
			dir = env.options.DataDir
		}
		if dir == "" {
			dir = DefaultDataDir
		}
		return openLocalPlace(ctx, env, dir, target)
	case strings.HasPrefix(place, localPlace):
		return openLocalPlace(ctx, env, strings.TrimPrefix(place, localPlace), target)
	case place == redisName && f.Redis == "":
		return nil, nil, errors.New("say which with --redis URL")
	case place == redisName:
		return openRedisPlace(ctx, env, f.Redis, target)
	case strings.Contains(place, "://"):
		return openRedisPlace(ctx, env, place, target)
	}
	return nil, nil, errors.New("unknown place: want local, redis, local:DIR, a Redis URL or file:PATH")
}

func openLocalPlace(ctx context.Context, env *environment, dir string, target bool) (transfer.Target, func() error, error) {
	if _, err := os.Stat(filepath.Join(dir, local.File)); err != nil && !target {
		return nil, nil, fmt.Errorf("no data in %s", dir)
	}
	s, err := local.Open(ctx, local.Options{Dir: dir, Logger: env.logger(), Unfinished: target})
	if err != nil {
		return nil, nil, err
	}
	return local.NewTarget(s), s.Close, nil
}

func openRedisPlace(ctx context.Context, env *environment, url string, target bool) (transfer.Target, func() error, error) {
	s, err := redis.Open(ctx, redis.Options{URL: url, Logger: env.logger(), Unfinished: target})
	if err != nil {
		return nil, nil, err
	}
	return redis.NewTarget(s), s.Close, nil
}

// hidePassword is a place as it may be shown.
func hidePassword(place string) string {
	scheme, rest, ok := strings.Cut(place, "://")
	if at := strings.LastIndexByte(rest, '@'); ok && at >= 0 {
		return scheme + "://…" + rest[at:]
	}
	return place
}
