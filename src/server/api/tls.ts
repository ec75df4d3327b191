import { unwatchFile, watchFile } from 'node:fs';
import type { Server } from 'node:tls';
import type { Logger } from 'pino';

const POLL_MS = 2000;

/** Tells when the file changes, comes or goes. Returns a stop function. */
export function followFile(file: string | undefined, onChange: () => void): () => void {
  if (file === undefined) return () => undefined;
  watchFile(file, { interval: POLL_MS, persistent: false }, onChange);
  return () => unwatchFile(file, onChange);
}

/** A renewed certificate is taken up without a restart; one that cannot be used is reported and the old one stays. */
export function reloadCertificate(
  server: Pick<Server, 'setSecureContext'>,
  files: { readonly cert: string; readonly key: string },
  readFile: (path: string) => string,
  log: Logger,
  onReloaded: (certificate: string) => Promise<void> = () => Promise.resolve(),
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
  const stops = [files.cert, files.key].map((file) => followFile(file, reload));
  return () => {
    for (const stop of stops) stop();
  };
}
