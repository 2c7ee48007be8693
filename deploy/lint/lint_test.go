package lint

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"github.com/moby/buildkit/frontend/dockerfile/linter"
	"github.com/moby/buildkit/frontend/dockerfile/parser"
	"github.com/moby/patternmatcher"
	"github.com/moby/patternmatcher/ignorefile"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

// root is the repository.
const root = "../.."

func read(t *testing.T, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(root, name))
	require.NoError(t, err)
	return b
}

// TestDockerfile: Docker reads it, and its linter has nothing to say.
func TestDockerfile(t *testing.T) {
	t.Parallel()
	parsed, err := parser.Parse(bytes.NewReader(read(t, "Dockerfile")))
	require.NoError(t, err)
	require.Empty(t, parsed.Warnings)
	var said []string
	lint := linter.New(&linter.Config{Warn: func(rule, _, _, msg string, _ []parser.Range) { said = append(said, rule+": "+msg) }})
	stages, _, err := instructions.Parse(parsed.AST, lint)
	require.NoError(t, err)
	require.Empty(t, said)
	require.Len(t, stages, 2)
	last := stages[len(stages)-1]
	require.Equal(t, "scratch", last.BaseName)
	var user, health bool
	for _, c := range last.Commands {
		switch c := c.(type) {
		case *instructions.UserCommand:
			user = true
			require.NotContains(t, []string{"", "0", "root"}, strings.Split(c.User, ":")[0])
		case *instructions.HealthCheckCommand:
			health = true
			require.Equal(t, []string{"CMD", "/parley", "health"}, c.Health.Test)
		}
	}
	require.True(t, user, "it doesn't run as root")
	require.True(t, health)
}

// TestBuildContext: what .dockerignore lets through is all that the build needs, and
// no more than sources.
func TestBuildContext(t *testing.T) {
	t.Parallel()
	patterns, err := ignorefile.ReadAll(bytes.NewReader(read(t, ".dockerignore")))
	require.NoError(t, err)
	ignored, err := patternmatcher.New(patterns)
	require.NoError(t, err)
	out := exec.CommandContext(t.Context(), "git", "ls-files")
	out.Dir = root
	files, err := out.Output()
	require.NoError(t, err)
	dir, size := t.TempDir(), 0
	for _, name := range strings.Fields(string(files)) {
		skip, err := ignored.MatchesOrParentMatches(name)
		require.NoError(t, err)
		if skip {
			continue
		}
		require.False(t, strings.HasSuffix(name, "_test.go"), name)
		b, err := os.ReadFile(filepath.Join(root, name))
		if errors.Is(err, os.ErrNotExist) { // removed and not committed yet
			continue
		}
		require.NoError(t, err)
		size += len(b)
		to := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(to), 0o750))
		require.NoError(t, os.WriteFile(to, b, 0o600))
	}
	require.Less(t, size, 16<<20)
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", filepath.Join(t.TempDir(), "parley"), "./cmd/parley")
	build.Dir, build.Env = dir, append(os.Environ(), "CGO_ENABLED=0")
	said, err := build.CombinedOutput()
	require.NoError(t, err, "%s", said)
}

// TestComposeFile: Compose loads it, and each replica waits for Redis, the proxy for all.
func TestComposeFile(t *testing.T) {
	t.Parallel()
	o, err := cli.NewProjectOptions([]string{filepath.Join(root, "docker-compose.yml")}, cli.WithName("parley"))
	require.NoError(t, err)
	project, err := o.LoadProject(context.Background())
	require.NoError(t, err)
	replicas := 0
	for name, s := range project.Services {
		if !strings.HasPrefix(name, "parley-") {
			continue
		}
		replicas++
		require.Equal(t, "service_healthy", s.DependsOn["redis"].Condition)
		require.Equal(t, "service_healthy", project.Services["proxy"].DependsOn[name].Condition)
		require.True(t, s.ReadOnly)
	}
	require.Equal(t, 3, replicas)
}

// TestManifest: Kubernetes' own types have every field of it.
func TestManifest(t *testing.T) {
	t.Parallel()
	docs := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(read(t, "deploy/kubernetes.yaml"))))
	kinds := map[string]any{
		"Secret": &corev1.Secret{}, "Deployment": &appsv1.Deployment{}, "Service": &corev1.Service{}, "PodDisruptionBudget": &policyv1.PodDisruptionBudget{},
	}
	seen := map[string]bool{}
	for {
		doc, err := docs.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		var meta struct{ Kind string }
		require.NoError(t, yaml.Unmarshal(doc, &meta))
		require.Contains(t, kinds, meta.Kind)
		require.NoError(t, yaml.UnmarshalStrict(doc, kinds[meta.Kind]), meta.Kind)
		seen[meta.Kind] = true
	}
	require.Len(t, seen, len(kinds))

	d := kinds["Deployment"].(*appsv1.Deployment)
	require.Equal(t, d.Spec.Selector.MatchLabels, d.Spec.Template.Labels)
	require.Equal(t, d.Spec.Template.Labels, kinds["Service"].(*corev1.Service).Spec.Selector)
	require.Equal(t, d.Spec.Template.Labels, kinds["PodDisruptionBudget"].(*policyv1.PodDisruptionBudget).Spec.Selector.MatchLabels)
	c := d.Spec.Template.Spec.Containers[0]
	require.Equal(t, kinds["Secret"].(*corev1.Secret).Name, c.Env[0].ValueFrom.SecretKeyRef.Name)
	require.Contains(t, kinds["Secret"].(*corev1.Secret).StringData, c.Env[0].ValueFrom.SecretKeyRef.Key)
	require.True(t, *d.Spec.Template.Spec.SecurityContext.RunAsNonRoot)
}
