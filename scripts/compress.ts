import { readFileSync, writeFileSync } from 'node:fs';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import { filesOf } from './stale.ts';

const COMPRESSED = /\.(?:html|js|css|svg|json)$/;

/** Compressed beside each file, so that the control plane only sends. */
export function compressFiles(folder: string, { br = true } = {}): Readonly<Record<string, number>> {
  const sizes: Record<string, number> = {};
  for (const file of filesOf(folder).filter((path) => COMPRESSED.test(path))) {
    const plain = readFileSync(file);
    const params = { [constants.BROTLI_PARAM_QUALITY]: 9, [constants.BROTLI_PARAM_SIZE_HINT]: plain.length };
    const gzip = gzipSync(plain, { level: 9 });
    if (br) writeFileSync(`${file}.br`, brotliCompressSync(plain, { params }));
    writeFileSync(`${file}.gz`, gzip);
    sizes[file.slice(folder.length + 1)] = gzip.length;
  }
  return sizes;
}
