import { fileURLToPath } from 'node:url';
import { frameReader } from '../../../core/schema/read-message.ts';
import { type Files, type StaticFile, staticFiles } from '../static-files.ts';

/** A page of the guide or the reference, made by scripts/build-docs.ts. */
export interface DocsEntry {
  readonly group: string;
  /** Below /docs: `guide/first-deployment`. */
  readonly path: string;
  readonly title: string;
  readonly summary: string;
}

/** Beside the sources of a checkout, and inside `dist` of an installation. */
const FOLDERS = ['../../../../dist/docs', '../../../docs'].map((path) =>
  fileURLToPath(new URL(path, import.meta.url)),
);

const readEntries = frameReader({
  type: 'list',
  items: {
    type: 'object',
    fields: {
      group: { type: 'string' },
      path: { type: 'string' },
      title: { type: 'string' },
      summary: { type: 'string' },
    },
  },
});

export interface DocsLibrary {
  /** In reading order; none while nothing is built. */
  readonly entries: () => readonly DocsEntry[];
  /** What the build made for a path below /docs. */
  readonly file: (path: string) => StaticFile | undefined;
}

/** Read when somebody first asks for a page. */
export function createDocsLibrary(folders: readonly string[] = FOLDERS): DocsLibrary {
  const files: () => Files = staticFiles(folders);
  let entries: readonly DocsEntry[] | undefined;
  return {
    entries: () => {
      const list = entries === undefined ? files().get('/pages.json') : undefined;
      if (list !== undefined) entries = readEntries(list.plain.toString()) ?? [];
      return entries ?? [];
    },
    file: (path) => files().get(path) ?? files().get(`${path}.html`),
  };
}
