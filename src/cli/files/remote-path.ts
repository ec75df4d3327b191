/** `web:/etc/nginx`, `web/web-k3n9x2af:/data`, `web/ins_01…:/data`; undefined: a path of this machine. */
export interface RemotePath {
  readonly name: string;
  /** As it was typed: its id, or what people call it. */
  readonly instance: string | undefined;
  readonly path: string;
}

const REMOTE = /^([a-z0-9][a-z0-9_-]{0,127})(?:\/([a-z0-9][a-z0-9_-]{3,127}))?:([\s\S]+)$/;

export function remotePath(text: string): RemotePath | undefined {
  const [, name, instance, path] = REMOTE.exec(text) ?? [];
  if (name === undefined || path === undefined) return undefined;
  // An id, or a name that begins with that of the workload: `logs/today:1` is of this machine.
  if (instance !== undefined && !instance.startsWith('ins_') && !instance.startsWith(`${name}-`))
    return undefined;
  return { name, instance, path: path.startsWith('/') ? path : `/${path}` };
}
