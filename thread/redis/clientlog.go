package redis

import (
	"context"
	"fmt"
	"log/slog"

	rds "github.com/redis/go-redis/v9"
)

// LogClient hands what the client library says of its connections to the default logger, at
// debug level: the store itself tells what matters of it. The library has one logger for a
// whole process, which is for a program's main to set.
func LogClient() { rds.SetLogger(clientLog{}) }

type clientLog struct{}

func (clientLog) Printf(ctx context.Context, format string, v ...any) {
	if log := slog.Default(); log.Enabled(ctx, slog.LevelDebug) {
		log.DebugContext(ctx, "Redis client", "said", fmt.Sprintf(format, v...))
	}
}
