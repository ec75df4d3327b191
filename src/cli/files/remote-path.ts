/** `web:/etc/nginx`, `web/ins_01…:/data`; undefined: a path of this machine. */
export interface RemotePath {
  readonly name: string;
  readonly instance: string | undefined;
  readonly path: string;
}

const REMOTE = /^([a-z0-9][a-z0-9_-]{0,127})(?:\/(ins_[a-z0-9]{1,60}))?:([\s\S]+)$/;

export function remotePath(text: string): RemotePath | undefined {
  const [, name, instance, path] = REMOTE.exec(text) ?? [];
  if (name === undefined || path === undefined) return undefined;
  return { name, instance, path: path.startsWith('/') ? path : `/${path}` };
}
