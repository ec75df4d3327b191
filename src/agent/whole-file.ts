import { open, rename } from 'node:fs/promises';
import { dirname } from 'node:path';

/** Whole or as it was, also after a power cut: on disk when it resolves. */
export async function writeWhole(path: string, content: string | Uint8Array): Promise<void> {
  const file = await open(`${path}.new`, 'w', 0o600);
  try {
    await file.chmod(0o600);
    await file.writeFile(content);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(`${path}.new`, path);
  const folder = await open(dirname(path), 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}
