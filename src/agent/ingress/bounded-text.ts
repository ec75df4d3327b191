import type { IncomingMessage } from 'node:http';

/** What somebody answers, up to a length; the rest is read and left. */
export async function boundedText(response: IncomingMessage, most: number): Promise<string> {
  let text = '';
  for await (const chunk of response.setEncoding('utf8')) text = (text + String(chunk)).slice(0, most);
  return text;
}
