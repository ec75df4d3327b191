import { type CommandBody, OUTPUT_OPTION, REMOTE_OPTIONS, type Subcommand } from '../command.ts';
import { confirmRevocation, YES_OPTION } from '../confirmation.ts';
import { EXIT } from '../exit-code.ts';
import { textOf } from '../fields.ts';
import type { IngressStatus } from '../ingress-check.ts';
import { type Listing, listText, outputFormat, isWhole, printWhole } from '../output.ts';
import { expiry } from '../table.ts';

type Row = IngressStatus & { readonly deployment: string };

function wayText({ host, path, protocol, listen }: Row): string {
  return host === undefined ? `${textOf(protocol)}/${textOf(listen)}` : `${host}${path ?? ''}`;
}

function endText(notAfter: string | undefined, now: number): string {
  return notAfter === undefined ? '-' : `ends ${expiry(notAfter, now)}`;
}

const WAYS: Listing<Row> = {
  nameOf: (row) => `ingress/${wayText(row)}`,
  columns: [
    { header: 'ADDRESS', cell: (row) => textOf(row.url) || wayText(row), link: ({ url }) => url },
    { header: 'HOST', cell: wayText, wide: true },
    { header: 'DEPLOYMENT', cell: ({ deployment }) => deployment },
    { header: 'STATE', cell: ({ state }) => textOf(state) },
    { header: 'CERTIFICATE', cell: ({ certificate }, now) => endText(certificate?.notAfter, now) },
    {
      header: 'CERTIFICATE UNTIL',
      cell: ({ certificate }) => textOf(certificate?.notAfter) || '-',
      wide: true,
    },
    { header: 'NODES', cell: ({ nodes = [] }) => nodes.join(', ') || '-' },
    { header: 'WHY', cell: ({ problem }) => textOf(problem) },
  ],
};

const revoke: Subcommand = {
  name: 'revoke',
  summary: 'Have the certificate of a host revoked, and another one issued',
  description: [
    'The ingress node that issued the certificate has the authority revoke it, and asks for another one with another key. The old one is served until the new one is there.',
    'Certificates of a secret are revoked where they were issued.',
  ],
  parameters: [{ term: '<host>', description: 'The host, without a path.' }],
  options: [YES_OPTION, ...REMOTE_OPTIONS],
  examples: [
    { line: 'berth ingress revoke shop.example.com', what: 'its key may have been seen by somebody' },
  ],
  run: async (session, { parameters: [host = ''], options }) => {
    await confirmRevocation(session, `the certificate of ${host}`, options);
    const { node, issuer } = await session
      .client(options)
      .record('POST /api/v1/ingress/{host}/revoke', { params: { host } });
    const by = textOf(issuer) || 'its authority';
    session.terminal.out(`certificate of ${host} revoked at ${by}; ${textOf(node)} asks for another\n`);
    session.terminal.err(`${session.next('berth ingress')}\n`);
    return EXIT.ok;
  },
};

export const ingress: CommandBody = {
  description: [
    "Lists every way in to the tenant's deployments: hosts and ports, whether an ingress node serves them, until when their certificates are good, and why not.",
    'They are declared by ingress of a deployment, or with berth run --host.',
  ],
  options: [OUTPUT_OPTION, ...REMOTE_OPTIONS],
  subcommands: [revoke],
  examples: [
    { line: 'berth ingress', what: 'hosts, and until when their certificates are good' },
    { line: 'berth ingress -o json', what: 'with issuers and addresses, for programs' },
  ],
  run: async (session, { options }) => {
    const format = outputFormat(options);
    const deployments = await session.client(options).list('GET /api/v1/deployments');
    const rows = deployments.flatMap(({ name, status }) =>
      (status?.ingress ?? []).map((way): Row => ({ deployment: textOf(name), ...way })),
    );
    const { terminal } = session;
    if (isWhole(format)) await printWhole(terminal, format, rows);
    else if (format === 'name') for (const row of rows) terminal.out(`${WAYS.nameOf(row)}\n`);
    else if (rows.length === 0)
      terminal.err(`no deployment has an ingress; ${session.next('berth run --host HOST IMAGE')}\n`);
    else terminal.out(listText(terminal, WAYS, rows, format, session.now()));
    return EXIT.ok;
  },
};
