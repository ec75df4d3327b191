import { data, errors, type Reply } from './reply.ts';

interface KvVersion {
  data: Record<string, unknown>;
  readonly createdTime: string;
  deletionTime: string;
  destroyed: boolean;
}

/** One document of a KV v2 mount. `versions` holds what is kept; a deleted version keeps its metadata. */
interface KvDocument {
  readonly createdTime: string;
  current: number;
  maxVersions: number;
  readonly versions: Map<number, KvVersion>;
}

const KEEP_VERSIONS = 10;
/** Entries of raft storage; a document and its keys have to fit. */
const MAX_ENTRY_BYTES = 1024 * 1024;

interface Asked {
  readonly method: string;
  readonly api: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly body: unknown;
}

export interface Mount {
  readonly version: '1' | '2';
  answer(asked: Asked): Reply;
}

/** A mount without versions: it takes what is sent to any path below it, as that path's content. */
export class Kv1Mount implements Mount {
  readonly version = '1';
  readonly documents = new Map<string, unknown>();

  answer({ method, api, path, query, body }: Asked): Reply {
    const whole = `${api}/${path}`;
    if (query.get('list') === 'true') return errors(404);
    if (method === 'POST') {
      this.documents.set(whole, body);
      return { status: 204 };
    }
    if (method === 'DELETE') {
      this.documents.delete(whole);
      return { status: 204 };
    }
    return this.documents.has(whole) ? data(this.documents.get(whole)) : errors(404);
  }
}

/** `3600s`; the tool of the store sends durations so. */
function secondsOf(text = '0s'): number {
  return Number(text.replace(/s$/, ''));
}

/** KV v2 as Vault and OpenBao answer it, status by status, and word by word where a client has nothing else to go by. */
export class Kv2Mount implements Mount {
  readonly version = '2';
  readonly #documents = new Map<string, KvDocument>();
  withoutSubkeys = false;
  /** New versions are to be deleted this much later (`delete_version_after`). */
  deleteAfterMs = 0;

  put(path: string, content: Record<string, unknown>): { version: number; createdTime: string } {
    const createdTime = new Date().toISOString();
    const document = this.#documents.get(path) ?? {
      createdTime,
      current: 0,
      maxVersions: KEEP_VERSIONS,
      versions: new Map(),
    };
    this.#documents.set(path, document);
    document.current += 1;
    const deletionTime =
      this.deleteAfterMs === 0 ? '' : new Date(Date.now() + this.deleteAfterMs).toISOString();
    document.versions.set(document.current, { data: content, createdTime, deletionTime, destroyed: false });
    for (const number of document.versions.keys())
      if (number <= document.current - document.maxVersions) document.versions.delete(number);
    return { version: document.current, createdTime };
  }

  /** `kv delete`. */
  deleteNewest(path: string): void {
    const newest = this.#newest(path);
    if (newest !== undefined) newest.deletionTime = new Date().toISOString();
  }

  /** Every version that was ever written and is still kept, oldest first. */
  contents(path: string): readonly (readonly [number, Record<string, unknown>])[] {
    return [...(this.#documents.get(path)?.versions ?? [])].map(([number, { data: kept }]) => [number, kept]);
  }

  #newest(path: string): KvVersion | undefined {
    const document = this.#documents.get(path);
    return document?.versions.get(document.current);
  }

  answer({ method, api, path, query, body }: Asked): Reply {
    if (api === 'config' && method === 'GET') return data({ max_versions: 0, cas_required: false });
    if (api === 'data' && method === 'POST') return this.#write(path, body);
    if (api === 'data' && method === 'GET') return this.#read(path, query, 'data');
    if (api === 'subkeys' && method === 'GET') {
      return this.withoutSubkeys
        ? errors(404, '1 error occurred:\n\t* unsupported path\n\n')
        : this.#read(path, query, 'subkeys');
    }
    if (api === 'metadata' && query.get('list') === 'true') return this.#list(path);
    if (api === 'metadata' && method === 'GET') return this.#metadata(path);
    if (api === 'metadata' && method === 'DELETE') {
      this.#documents.delete(path);
      return { status: 204 };
    }
    return this.#manage(api, method, path, body) ?? errors(405, 'unsupported operation');
  }

  /** What an operator does with the tool of the store. */
  #manage(api: string, method: string, path: string, body: unknown): Reply | undefined {
    const document = this.#documents.get(path);
    const { versions = [], max_versions } = (body ?? {}) as { versions?: number[]; max_versions?: number };
    if (api === 'data' && method === 'DELETE') this.deleteNewest(path);
    else if (api === 'destroy' && method === 'POST')
      for (const number of versions)
        Object.assign(document?.versions.get(number) ?? {}, { destroyed: true, data: {} });
    else if (api === 'metadata' && method === 'POST' && document !== undefined && max_versions !== undefined)
      document.maxVersions = max_versions;
    else if (api === 'config' && method === 'POST')
      this.deleteAfterMs = secondsOf((body as { delete_version_after?: string }).delete_version_after) * 1000;
    else return undefined;
    return { status: 204 };
  }

  #write(path: string, body: unknown): Reply {
    const { data: content, options } = body as { data?: Record<string, unknown>; options?: { cas?: number } };
    if (content === undefined) return errors(400, 'no data provided');
    // A version that was deleted or destroyed is still the one to name.
    if (options?.cas !== undefined && options.cas !== (this.#documents.get(path)?.current ?? 0)) {
      return errors(400, 'check-and-set parameter did not match the current version');
    }
    const bytes = Buffer.byteLength(JSON.stringify(content));
    if (bytes > MAX_ENTRY_BYTES) {
      return errors(
        500,
        `1 error occurred:\n\t* put failed due to value being too large; got ${bytes} bytes, max: ${MAX_ENTRY_BYTES} bytes\n\n`,
      );
    }
    const { version, createdTime } = this.put(path, content);
    return data({
      version,
      created_time: createdTime,
      deletion_time: this.#newest(path)?.deletionTime ?? '',
      destroyed: false,
      custom_metadata: null,
    });
  }

  #read(path: string, query: URLSearchParams, field: 'data' | 'subkeys'): Reply {
    const document = this.#documents.get(path);
    const number = Number(query.get('version') ?? 0) || (document?.current ?? 0);
    const version = document?.versions.get(number);
    if (version === undefined) return errors(404);
    const metadata = {
      version: number,
      created_time: version.createdTime,
      deletion_time: version.deletionTime,
      destroyed: version.destroyed,
      custom_metadata: null,
    };
    const deleted = version.deletionTime !== '' && Date.parse(version.deletionTime) <= Date.now();
    if (deleted || version.destroyed) {
      return { status: 404, body: { data: { [field]: null, metadata } } };
    }
    const names = Object.fromEntries(Object.keys(version.data).map((key) => [key, null]));
    return data({ [field]: field === 'data' ? version.data : names, metadata });
  }

  #metadata(path: string): Reply {
    const document = this.#documents.get(path);
    if (document === undefined) return errors(404);
    const versions = Object.fromEntries(
      [...document.versions].map(([number, { createdTime, deletionTime, destroyed }]) => [
        number,
        { created_time: createdTime, deletion_time: deletionTime, destroyed },
      ]),
    );
    return data({
      cas_required: false,
      created_time: document.createdTime,
      current_version: document.current,
      max_versions: document.maxVersions === KEEP_VERSIONS ? 0 : document.maxVersions,
      oldest_version: Math.min(...document.versions.keys()),
      versions,
    });
  }

  #list(folder: string): Reply {
    const prefix = folder.endsWith('/') ? folder : `${folder}/`;
    const below = [...this.#documents.keys()]
      .filter((key) => key.startsWith(prefix))
      .map((key) => key.slice(prefix.length));
    const keys = new Set(below.map((key) => (key.includes('/') ? `${key.split('/')[0]}/` : key)));
    return keys.size === 0 ? errors(404) : data({ keys: [...keys].sort() });
  }
}
