// Package bundle builds user interface components with esbuild, in the form
// that clients of generative UI load: a script that takes React from the page
// and hands the component to the client's store (spec/rest-api.md 2.8).
package bundle

import (
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/evanw/esbuild/pkg/api"

	"github.com/parley-dev/parley/server"
)

// shared are the modules that the page brings; all else is bundled.
var shared = []string{
	"react", "react-dom", "react/jsx-runtime", "@langchain/langgraph-sdk/react", "@langchain/langgraph-sdk/react-ui",
}

// entry is the script around the components: the client calls render, which
// hands the component to the store that the page put under a global symbol.
const entry = `import components from %q;
export function render(name, shadowRootId) {
  const root = document.getElementById(shadowRootId).shadowRoot;
  const target = document.createElement("div");
  root.appendChild(target);
  globalThis[Symbol.for("LGUI_EXT_STORE")].respond(shadowRootId, components[name], target);
}
`

// before and after keep the bundle's names to itself, but for the global
// variable; imports of shared modules become calls of require.
const (
	before = `(() => {
const require = globalThis[Symbol.for("LGUI_REQUIRE")];`
	after = `globalThis.%[1]s = %[1]s;
})();`
)

// Build builds a bundle; it is a server.UI's Build. Sources are JavaScript or
// TypeScript with JSX, and CSS.
func Build(name string, ui server.UI) (map[string][]byte, error) {
	result := api.Build(api.BuildOptions{
		Stdin:    &api.StdinOptions{Contents: fmt.Sprintf(entry, "./"+ui.Entry), Sourcefile: "entrypoint.js", Loader: api.LoaderJS},
		Outfile:  "entrypoint.js",
		Bundle:   true,
		Write:    false,
		Format:   api.FormatIIFE,
		Platform: api.PlatformBrowser,
		Target:   api.ES2020,
		JSX:      api.JSXAutomatic,

		GlobalName:       server.UIGlobal(name),
		MinifySyntax:     true,
		MinifyWhitespace: false,
		Banner:           map[string]string{"js": before},
		Footer:           map[string]string{"js": fmt.Sprintf(after, server.UIGlobal(name))},
		External:         shared,
		LogLevel:         api.LogLevelSilent,
		Plugins:          []api.Plugin{fromFS(ui.Files)},
	})
	if len(result.Errors) > 0 {
		texts := api.FormatMessages(result.Errors, api.FormatMessagesOptions{Kind: api.ErrorMessage})
		return nil, fmt.Errorf("esbuild: %s", strings.TrimSpace(strings.Join(texts, "\n")))
	}
	files := map[string][]byte{}
	for _, f := range result.OutputFiles {
		files[path.Base(strings.ReplaceAll(f.Path, "\\", "/"))] = f.Contents
	}
	return files, nil
}

// loaders are esbuild's loaders by file extension.
var loaders = map[string]api.Loader{
	".js": api.LoaderJS, ".jsx": api.LoaderJSX, ".ts": api.LoaderTS, ".tsx": api.LoaderTSX,
	".css": api.LoaderCSS, ".json": api.LoaderJSON, ".svg": api.LoaderDataURL, ".png": api.LoaderDataURL,
}

// fromFS makes relative imports read from files; nothing else of the machine can be read.
func fromFS(files fs.FS) api.Plugin {
	const namespace = "ui"
	return api.Plugin{Name: "files", Setup: func(b api.PluginBuild) {
		b.OnResolve(api.OnResolveOptions{Filter: `.*`}, func(a api.OnResolveArgs) (api.OnResolveResult, error) {
			for _, m := range shared {
				if a.Path == m {
					return api.OnResolveResult{Path: a.Path, External: true}, nil
				}
			}
			if !strings.HasPrefix(a.Path, "./") && !strings.HasPrefix(a.Path, "../") {
				return api.OnResolveResult{}, fmt.Errorf("%q: only relative imports and %s are available", a.Path, strings.Join(shared, ", "))
			}
			dir := "."
			if a.Namespace == namespace {
				dir = path.Dir(a.Importer)
			}
			name, err := find(files, path.Join(dir, a.Path))
			return api.OnResolveResult{Path: name, Namespace: namespace}, err
		})
		b.OnLoad(api.OnLoadOptions{Filter: `.*`, Namespace: namespace}, func(a api.OnLoadArgs) (api.OnLoadResult, error) {
			data, err := fs.ReadFile(files, a.Path)
			if err != nil {
				return api.OnLoadResult{}, err
			}
			text := string(data)
			return api.OnLoadResult{Contents: &text, Loader: loaders[path.Ext(a.Path)]}, nil
		})
	}}
}

// find completes a path as bundlers do: with an extension, or as a folder's index.
func find(files fs.FS, name string) (string, error) {
	for _, suffix := range []string{"", ".tsx", ".ts", ".jsx", ".js", "/index.tsx", "/index.ts", "/index.jsx", "/index.js"} {
		if info, err := fs.Stat(files, name+suffix); err == nil && !info.IsDir() {
			return name + suffix, nil
		}
	}
	return "", fmt.Errorf("no file %q", name)
}
