import { fileURLToPath } from 'node:url';
import tailwindcss from '@tailwindcss/vite';
import react from '@vitejs/plugin-react';
import { defineConfig, type Plugin } from 'vite';

/**
 * What nearly every page draws with, as one file: each small one costs a request, and more bytes of headers than it has of its own. Nothing
 * that opens windows or menus, which come when they are opened. With the list of deployments, which is opened most and is the longest: its
 * code is there when its rows are.
 */
const COMMON =
  /dashboard[\\/](app[\\/](session|use-records|page-title|address)|components[\\/](badge|button|data-table|empty-state|error-notice|icon|loading|meter|page|pending-page|quota-meters|row-link|search-box|time-ago|use-narrow|use-window)|features[\\/]deployments[\\/](deployments-page|health|marks|usage-cell)|lib[\\/](format|reason-first|short-ids))\.|core[\\/]model[\\/](instance-name|reason|values)\.|deployment-queries|use-sync-external-store|react[\\/]jsx-runtime/;

/** By itself, so that it waits for nothing else. */
const BEGIN = /dashboard[\\/](begin|lib[\\/]begun)\.ts/;

/** As a script of its own it runs as soon as it is there; the application, which imports the same file, takes longer to load. */
const beginEarly: Plugin = {
  name: 'begin-early',
  apply: 'build',
  transformIndexHtml: {
    order: 'post',
    handler: (html) => {
      const begun = /<link rel="modulepreload" crossorigin href="(\/assets\/begin-[^"]{1,40})">/;
      if (!begun.test(html)) throw new Error('the page does not load what begins its questions');
      return html.replace(begun, '<script type="module" async crossorigin src="$1"></script>');
    },
  },
};

const API = 'http://127.0.0.1:7600';

/** `vite src/dashboard` serves the sources beside a control plane on its usual port; the build is scripts/build-dashboard.ts. */
export default defineConfig({
  root: fileURLToPath(new URL('.', import.meta.url)),
  plugins: [react(), tailwindcss(), beginEarly],
  build: {
    outDir: fileURLToPath(new URL('../../dist/dashboard', import.meta.url)),
    emptyOutDir: true,
    target: 'es2023',
    // Small files would become data: URLs, which the page may not load.
    assetsInlineLimit: 0,
    // Written inline into the page otherwise, which it may not run.
    modulePreload: { polyfill: false },
    rolldownOptions: {
      output: {
        codeSplitting: {
          groups: [
            { name: 'begin', test: BEGIN },
            { name: 'common', test: COMMON },
          ],
        },
      },
    },
  },
  server: { proxy: { '/api': API, '/docs': API, '/healthz': API } },
});
