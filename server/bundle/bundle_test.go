package bundle_test

import (
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/parley-dev/parley/server"
	"github.com/parley-dev/parley/server/bundle"
)

func files(content map[string]string) fstest.MapFS {
	out := fstest.MapFS{}
	for name, text := range content {
		out[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return out
}

func TestBundleTakesReactFromThePage(t *testing.T) {
	t.Parallel()
	got, err := bundle.Build("my agent", server.UI{Entry: "index.tsx", Files: files(map[string]string{
		"index.tsx":       `import {Card} from "./parts/card"; export default { card: Card };`,
		"parts/card.tsx":  `import "./card.css"; import {useState} from "react"; export const Card = (p: {t: string}) => <b>{p.t}{useState}</b>;`,
		"parts/card.css":  `b{color:red}`,
		"parts/unused.js": `syntax error (`,
	})})
	require.NoError(t, err)
	script := string(got["entrypoint.js"])
	require.Contains(t, script, `globalThis[Symbol.for("LGUI_REQUIRE")]`)
	require.Contains(t, script, `globalThis.__LGUI_my_agent = __LGUI_my_agent`)
	require.Contains(t, script, `require("react/jsx-runtime")`)
	require.Contains(t, string(got["entrypoint.css"]), "color")
}

func TestBundleReadsNothingElse(t *testing.T) {
	t.Parallel()
	for name, source := range map[string]string{
		"a module":        `import x from "lodash"; export default x;`,
		"an absolute one": `import x from "/etc/passwd"; export default x;`,
		"above the root":  `import x from "../../secret.js"; export default x;`,
		"a missing file":  `import x from "./nope"; export default x;`,
		"a syntax error":  `export default {`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := bundle.Build("a", server.UI{Entry: "index.js", Files: files(map[string]string{"index.js": source})})
			require.Error(t, err)
		})
	}
}
