import type { Expression } from './formats/expression.ts';
import type { OptionValues } from './option-values.ts';
import type { Session } from './session.ts';

/** A command as data: parser, help page, shell completion and the reference page are made from it. */
export interface CommandBody {
  /** Paragraphs of the help page. */
  readonly description: readonly string[];
  readonly parameters?: readonly Parameter[];
  readonly options?: readonly Option[];
  readonly examples: readonly Example[];
  /** Sections of the help page beyond the usual ones. */
  readonly notes?: readonly { readonly title: string; readonly lines: readonly string[] }[];
  /** Everything after the parameters belongs to another program (`exec NAME -- cmd`). */
  readonly passThrough?: boolean;
  /** Absent on a command that only has subcommands. */
  readonly run?: (session: Session, input: Input) => Promise<number>;
  readonly subcommands?: readonly Subcommand[];
}

export interface Subcommand extends CommandBody {
  readonly name: string;
  readonly summary: string;
  readonly aliases?: readonly string[];
}

export interface Parameter {
  /** `<name>` needed, `[name]` optional, `<name...>` several. */
  readonly term: string;
  readonly description: string;
  /** Completion: the values it takes. */
  readonly values?: readonly string[];
  /** Completion: names of records; `kind`: of the kind that the word before it says, `owner`: or of the deployments that have those. */
  readonly names?: NamedKind | 'kind' | 'owner';
}

/** Kinds whose names a shell completes. */
export type NamedKind =
  | 'deployments'
  | 'instances'
  | 'jobs'
  | 'nodes'
  | 'secrets'
  | 'volumes'
  | 'networks'
  | 'tokens'
  | 'join-tokens'
  | 'tenants'
  | 'webhooks'
  | 'backups'
  | 'recommendations'
  | 'contexts'
  /** Of this machine. */
  | 'files';

export interface Option {
  /** `-f, --filename <path>`; `<path...>` may be given several times. */
  readonly flags: string;
  readonly description: string;
  readonly default?: string;
  readonly values?: readonly string[];
  readonly names?: NamedKind;
  /** May be given several times, one value each. */
  readonly repeatable?: boolean;
}

export interface Example {
  readonly line: string;
  readonly what: string;
}

export interface Input {
  readonly parameters: readonly string[];
  readonly options: OptionValues;
}

export interface CommandEntry {
  readonly name: string;
  readonly summary: string;
  readonly group: string;
  /** Loaded when it is named, so that `berth version` does not read every command. */
  readonly load: () => Promise<CommandBody>;
}

/** Options of every command that talks to a control plane. */
export const REMOTE_OPTIONS: readonly Option[] = [
  {
    flags: '--context <name>',
    description: 'Use this context instead of the current one (see berth context).',
    names: 'contexts',
  },
  {
    flags: '--tenant <tenant>',
    description:
      "Act for this tenant (slug or UUID). A tenant's own token needs it never; a platform token acts for the platform without it.",
    names: 'tenants',
  },
];

export const OUTPUT_FORMATS = ['table', 'wide', 'json', 'yaml', 'name'] as const;
/** For programs: all that there is, or what an expression takes of it. */
export type WholeFormat = 'json' | 'yaml' | Expression;
export type OutputFormat = (typeof OUTPUT_FORMATS)[number] | WholeFormat;

export const OUTPUT_OPTION: Option = {
  flags: '-o, --output <format>',
  description: `How to print: ${OUTPUT_FORMATS.join(', ')}, jsonpath=PATH or template=TEXT. json and yaml are the control plane's own fields, for scripts; jsonpath prints some of them ('[*].name', '.status.phase'), template a line of text for each record ('{{.name}} {{.status.phase}}').`,
  default: 'table',
  values: OUTPUT_FORMATS,
};
