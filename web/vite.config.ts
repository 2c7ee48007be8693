import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

/** The server's paths that a page of the development server needs. */
const api = ["/api", "/assistants", "/threads", "/runs", "/feeds", "/info"];
const target = process.env.PARLEY_URL ?? "http://localhost:2024";

export default defineConfig({
  base: "/app/",
  plugins: [react()],
  resolve: { alias: [{ find: /^langsmith(\/.*)?$/, replacement: `${import.meta.dirname}/untraced.ts` }] },
  preview: { proxy: Object.fromEntries(api.map((path) => [path, { target, changeOrigin: true }])) },
  server: { proxy: Object.fromEntries(api.map((path) => [path, { target, changeOrigin: true }])) },
  build: {
    target: "es2023",
    assetsInlineLimit: 0, // the Content-Security-Policy allows no data: scripts or styles
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    chunkSizeWarningLimit: 900,
  },
});
