import { fileURLToPath } from 'node:url';
import tailwindcss from '@tailwindcss/vite';
import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

/**
 * What nearly every page draws with, as one file: each small one costs a request, and more bytes of headers than it has of its own. Nothing
 * that opens windows or menus, which come when they are opened.
 */
const COMMON =
  /dashboard[\\/](app[\\/](session|use-records|page-title|address)|components[\\/](badge|button|empty-state|error-notice|icon|loading|meter|page|pending-page|quota-meters|time-ago)|lib[\\/](format|reason-first|short-ids))\.|core[\\/]model[\\/](instance-name|reason|values)\.|deployment-queries|use-sync-external-store|react[\\/]jsx-runtime/;

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
    rolldownOptions: { output: { codeSplitting: { groups: [{ name: 'common', test: COMMON }] } } },
  },
  server: { proxy: { '/api': API, '/docs': API, '/healthz': API } },
});
