import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);

/** The library, loaded when there is something to read with it: most control planes have no YAML before them for days. */
export function yaml(): typeof import('yaml') {
  return require('yaml');
}
