import type { Dialect } from './dialect.ts';
import type { EngineInfo } from './engine.ts';
import { fields, list, number, text } from './fields.ts';
import { platform } from './image-reference.ts';

/** From `GET /info` and `GET /version`. */
export function engineInfo(dialect: Dialect, info: unknown, version: unknown): EngineInfo {
  const facts = fields(info);
  const versions = fields(version);
  return {
    kind: dialect.kind,
    version: text(versions['Version']) ?? '',
    apiVersion: dialect.apiVersion,
    components: componentVersions(versions['Components']),
    cpus: number(facts['NCPU']) ?? 0,
    memoryBytes: number(facts['MemTotal']) ?? 0,
    platform: platform(versions),
    rootDir: text(facts['DockerRootDir']) ?? '',
  };
}

function inParentheses(name: string): string | undefined {
  const open = name.indexOf('(');
  return open !== -1 && name.endsWith(')') ? name.slice(open + 1, -1) : undefined;
}

/** Podman: `OCI Runtime (runc)`, or the runtime's path, with `runc version 1.1.5\ncommit: …`; Docker: `runc` with `1.1.5`. */
function componentVersions(value: unknown): Readonly<Record<string, string>> {
  return Object.fromEntries(
    list(value).map((entry) => {
      const component = fields(entry);
      const name = text(component['Name']) ?? '';
      const version = (text(component['Version']) ?? '').split('\n', 1)[0] ?? '';
      return [
        (inParentheses(name)?.split('/').at(-1) ?? name).toLowerCase(),
        /version (\S+?),?(?:\s|$)/.exec(version)?.[1] ?? version,
      ];
    }),
  );
}
