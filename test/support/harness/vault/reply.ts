export interface Reply {
  readonly status: number;
  readonly body?: unknown;
}

export const errors = (status: number, ...messages: string[]): Reply => ({
  status,
  body: { errors: messages },
});

export const data = (content: unknown): Reply => ({
  status: 200,
  body: { data: content, auth: null, warnings: null },
});
