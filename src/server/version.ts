import { readFileSync } from 'node:fs';

/** From package.json, beside `src` in a checkout and beside `dist` in an installation. */
export const VERSION: string = (
  JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as { version: string }
).version;
