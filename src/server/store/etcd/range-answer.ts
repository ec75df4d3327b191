import { ANSWER, AnswerBytes, ENTRY } from './answer-bytes.ts';

/** One record of an answer, its key as etcd has it. */
export interface RangeEntry {
  readonly key: string;
  readonly value: string;
  readonly createRevision: number;
  readonly modRevision: number;
}

export interface RangeAnswer {
  /** Of the store when it answered. */
  readonly revision: number;
  readonly kvs: readonly RangeEntry[];
  readonly more: boolean;
}

function textTo(message: AnswerBytes, end: number): string {
  const from = message.at;
  message.at = end;
  return message.text(from, end);
}

function entryTo(message: AnswerBytes, end: number): RangeEntry {
  let [key, value] = ['', ''];
  let [createRevision, modRevision] = [0, 0];
  while (message.at < end) {
    const field = message.number();
    if (field === ENTRY.key) key = textTo(message, message.end());
    else if (field === ENTRY.value) value = textTo(message, message.end());
    else if (field === ENTRY.createRevision) createRevision = message.number();
    else if (field === ENTRY.modRevision) modRevision = message.number();
    else message.skip(field);
  }
  return { key, value, createRevision, modRevision };
}

export function decodeRange(bytes: Buffer): RangeAnswer {
  const message = new AnswerBytes(bytes);
  const kvs: RangeEntry[] = [];
  let revision = 0;
  let more = false;
  while (!message.isOver) {
    const field = message.number();
    if (field === ANSWER.kvs) kvs.push(entryTo(message, message.end()));
    else if (field === ANSWER.header) revision = message.revision(message.end());
    else if (field === ANSWER.more) more = message.number() !== 0;
    else message.skip(field);
  }
  return { revision, kvs, more };
}
