import { listOf, type Message, message, optional } from '../schema/message-shape.ts';

/** Subprotocol of a WebSocket into an instance. */
export const CHANNEL_PROTOCOL = 'berth.exec.v1';
/** Of one message, in either direction. */
export const MAX_CHANNEL_FRAME_BYTES = 256 * 1024;
/** What one message carries: a larger one would hold up what else its connection carries. */
export const CHANNEL_PIECE_BYTES = 64 * 1024;
/** The first byte of every binary message to the client; the rest is what was printed. */
export const CHANNEL_OUTPUT = { stdout: 1, stderr: 2 } as const;
/** Signals that may be sent to a command without a terminal; with one, keys do that. */
export const CHANNEL_SIGNALS = ['HUP', 'INT', 'QUIT', 'TERM', 'KILL', 'USR1', 'USR2'] as const;
export const MAX_CHANNEL_ARGUMENTS = 1000;

const cells = message({ type: 'integer', least: 1 });
const text = message({ type: 'string', max: 1_000_000, anyUnicode: true });
const path = message({ type: 'string', max: 4096 });

/** The first message of a client, as text: what the channel is for. */
export const channelStart = message({
  type: 'choice',
  by: 'type',
  of: {
    exec: {
      type: 'object',
      fields: {
        command: listOf(text, MAX_CHANNEL_ARGUMENTS),
        /** In a terminal of this size. */
        tty: { type: 'boolean', orNot: true },
        columns: optional(cells),
        rows: optional(cells),
        /** Binary messages are the command's input, until `eof`; without it the input is empty. */
        stdin: { type: 'boolean', orNot: true },
        /** After which the command is killed. */
        timeout: optional({ type: 'string', max: 32 }),
      },
    },
    /** A file or folder as a tar archive; output is the archive. */
    read: { type: 'object', fields: { path } },
    /** Input is a tar archive. First output is a `WriteTarget`; after `eof` the end says whether it was taken. */
    write: { type: 'object', fields: { path } },
    /** A connection to a TCP port of the instance: input and output are its bytes. */
    connect: { type: 'object', fields: { port: { type: 'integer', least: 1 } } },
  },
});
export type ChannelStart = Message<typeof channelStart>;

/** What is at the path that is written to: a folder, into which the archive is put, or something else, which it replaces under this name. */
export const writeTarget = message({ type: 'object', fields: { isFolder: { type: 'boolean' } } });

/** What a client says afterwards, as text; binary messages are input. */
export const channelControl = message({
  type: 'choice',
  by: 'type',
  of: {
    resize: { type: 'object', fields: { columns: cells, rows: cells } },
    /** The input is over. */
    eof: { type: 'object', fields: {} },
    signal: { type: 'object', fields: { signal: { type: 'string', values: CHANNEL_SIGNALS } } },
    /** The client leaves, and the command goes on. */
    detach: { type: 'object', fields: {} },
  },
});
export type ChannelControl = Message<typeof channelControl>;

const humanText = message({ type: 'string', mended: 'prose' });

/** What the control plane says as text; binary messages are output. */
export const channelNews = message({
  type: 'choice',
  by: 'type',
  of: {
    started: { type: 'object', fields: { instance: text } },
    /** The other side sends nothing more. */
    eof: { type: 'object', fields: {} },
    /** The last message. Without `exitCode` it did not come to its own end. */
    end: {
      type: 'object',
      fields: {
        exitCode: optional({ type: 'integer' }),
        timedOut: { type: 'boolean', orNot: true, optional: true },
        detached: { type: 'boolean', orNot: true, optional: true },
        /** A record as every refusal has. */
        rejection: optional({
          type: 'object',
          fields: {
            code: humanText,
            field: humanText,
            received: humanText,
            expected: humanText,
            why: humanText,
            doc: humanText,
          },
        }),
      },
    },
  },
});
export type ChannelNews = Message<typeof channelNews>;
export type ChannelEnd = Extract<ChannelNews, { readonly type: 'end' }>;
