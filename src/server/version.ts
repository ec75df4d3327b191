import { parsedRecord } from '../core/model/values.ts';
import { readFileSync } from 'node:fs';

/** From package.json, beside `src` in a checkout and beside `dist` in an installation. */
export const VERSION = String(
  parsedRecord(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))['version'],
);
