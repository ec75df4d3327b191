import { createRequire } from 'node:module';
import { ownFiles } from './own-files.ts';

const require = createRequire(import.meta.url);
let isLoaded = false;

/** The library, loaded when there is something to read with it: most control planes have no YAML before them for days. */
export function yaml(): typeof import('yaml') {
  if (!isLoaded) ownFiles.require('the reader of YAML');
  isLoaded = true;
  return require('yaml');
}
