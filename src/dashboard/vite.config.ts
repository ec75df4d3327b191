import { fileURLToPath } from 'node:url';
import tailwindcss from '@tailwindcss/vite';
import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

const API = 'http://127.0.0.1:7600';

/** `vite src/dashboard` serves the sources beside a control plane on its usual port; the build is scripts/build-dashboard.ts. */
export default defineConfig({
  root: fileURLToPath(new URL('.', import.meta.url)),
  plugins: [react(), tailwindcss()],
  build: {
    outDir: fileURLToPath(new URL('../../dist/dashboard', import.meta.url)),
    emptyOutDir: true,
    target: 'es2023',
    // Small files would become data: URLs, which the page may not load.
    assetsInlineLimit: 0,
    // Written inline into the page otherwise, which it may not run.
    modulePreload: { polyfill: false },
  },
  server: { proxy: { '/api': API, '/docs': API, '/healthz': API } },
});
