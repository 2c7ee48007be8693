import { svelte } from "@sveltejs/vite-plugin-svelte";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

export default defineConfig({
  root: "app",
  plugins: [
    react(),
    // A mount keeps its stream, so what useMessages takes at first stays right.
    svelte({ configFile: false, compilerOptions: { warningFilter: (w) => w.code !== "state_referenced_locally" } }),
  ],
  build: {
    outDir: "../node_modules/.pages",
    emptyOutDir: true,
    chunkSizeWarningLimit: 10_000,
    rollupOptions: { input: ["app/react.html", "app/svelte.html"] },
  },
});
