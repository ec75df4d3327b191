import { readCells } from '../cells/cells-file.ts';
import { haproxyConfig } from '../cells/haproxy.ts';
import type { CommandBody } from '../command.ts';
import { EXIT } from '../exit-code.ts';
import { usage } from '../failure.ts';
import { inputFile } from '../input-text.ts';
import { readYaml } from '../yaml-documents.ts';

async function described(path: string): Promise<unknown> {
  const [first, ...others] = await readYaml(inputFile(path, '-f'), path);
  if (others.length > 0) throw usage(`-f ${path}: one document describes all cells; the file holds several`);
  return first?.value;
}

export const cells: CommandBody = {
  description: [
    'A cell is an installation of its own: one control plane, or several on one etcd. A tenant belongs to one cell, and a router in front gives all of them one address.',
  ],
  examples: [{ line: 'berth cells haproxy -f cells.yaml', what: 'The configuration of the router' }],
  subcommands: [
    {
      name: 'haproxy',
      summary: 'Print the configuration of HAProxy in front of cells',
      description: [
        'Prints a configuration of HAProxy (2.6 or newer) that sends every request to the cell that its token or session names. It speaks to no control plane and stores nothing; run it again when the file changes, and reload HAProxy, which keeps open connections.',
        'The file names where to listen (listen), the public URL (baseUrl), the certificate with its key (certificate), where the router answers /healthz and /metrics (status, 127.0.0.1:7690), the cell of requests that name none (default, the first one), how many requests one address may have under way (requestsPerAddress, 1000), and the cells: name, the URLs of their control planes (servers) and the authority of their certificates (ca).',
      ],
      options: [
        {
          flags: '-f, --filename <path>',
          description: 'The description of the cells, as YAML.',
          names: 'files',
        },
      ],
      examples: [
        {
          line: 'berth cells haproxy -f cells.yaml > /etc/haproxy/haproxy.cfg && systemctl reload haproxy',
          what: 'After a cell was added',
        },
      ],
      run: async ({ terminal }, { options }) => {
        const path = options.text('filename');
        if (path === undefined) throw usage('-f is missing: the description of the cells');
        terminal.out(haproxyConfig(readCells(await described(path))));
        return EXIT.ok;
      },
    },
  ],
};
