import { unwatchFile, watchFile } from 'node:fs';
import type { Server } from 'node:tls';
import type { Logger } from 'pino';

const POLL_MS = 2000;

/** A renewed certificate is taken up without a restart; one that cannot be used is reported and the old one stays. */
export function reloadCertificate(
  server: Pick<Server, 'setSecureContext'>,
  files: { readonly cert: string; readonly key: string; readonly next?: string },
  readFile: (path: string) => string,
  log: Logger,
  onReloaded: (certificate: string) => Promise<void> = () => Promise.resolve(),
  onNext: () => void = () => undefined,
): () => void {
  const reload = (): void => {
    try {
      const cert = readFile(files.cert);
      server.setSecureContext({ cert, key: readFile(files.key) });
      log.info({ cert: files.cert }, 'certificate reloaded');
      onReloaded(cert).catch((error: unknown) =>
        log.warn({ err: error }, 'the new certificate could not be published to other control planes'),
      );
    } catch (error) {
      log.error({ err: error, cert: files.cert }, 'the new certificate cannot be used; the old one stays');
    }
  };
  for (const file of [files.cert, files.key])
    watchFile(file, { interval: POLL_MS, persistent: false }, reload);
  if (files.next !== undefined) watchFile(files.next, { interval: POLL_MS, persistent: false }, onNext);
  return () => {
    if (files.next !== undefined) unwatchFile(files.next, onNext);
    for (const file of [files.cert, files.key]) unwatchFile(file, reload);
  };
}
